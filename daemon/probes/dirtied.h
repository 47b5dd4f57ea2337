/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of who made pages dirty (see bpf/dirtied.bpf.h), which are there while the programs that fill
 * them are attached: while block requests are recorded, or I/O is counted by layer. Main thread.
 */
#pragma once

struct probes;

/* Makes the tables, before the programs are attached; without them, dirtiers are not known, which is logged. */
void dirtied_begin(struct probes *probes);

/* Gives them back, after the programs were detached. */
void dirtied_end(struct probes *probes);

/* Gives back those of the last daemon, if it was killed. Before the first tables are made, by the thread that loads the programs. */
void dirtied_tidy(struct probes *probes);

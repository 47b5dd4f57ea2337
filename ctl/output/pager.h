/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pager between this program and the terminal, as journalctl has one. One thread. */
#pragma once

/*
 * Starts IOTRACER_PAGER, PAGER or `less`, if stdout is a terminal; what is printed from here on goes through it. "" and
 * "cat" mean none. Without a pager that can be run, output goes to the terminal as it is.
 */
void pager_begin(void);

/* Waits until the user has left it. Without one it does nothing. */
void pager_end(void);

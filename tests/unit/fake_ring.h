/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rings of the fake probe set: one of rows, which a test fills, and one of names, which stays empty. */
#pragma once

enum { FAKE_RING_NAMES, FAKE_RING_ROWS }; /* in place of their descriptors */

/* Rows of vfs, of reads that end now, for every session that is open in the fake probe set. Main thread. */
void fake_ring_fill(unsigned int count);

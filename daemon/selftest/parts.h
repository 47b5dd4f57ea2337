/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the self-test's I/O. Each notes what it did, and leaves descriptors and files that it no longer
 * needs to the end of the process.
 */
#pragma once

void selftest_files(void);
void selftest_sockets(void);
void selftest_ring(void);

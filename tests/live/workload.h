/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work whose amount is known, for tests that count. */
#pragma once

/* Opens, reads, writes, looks at and closes files in the working directory, `rounds` times. */
void workload_files(unsigned long rounds);

/*
 * So many threads, or as many as the machine lets us have, which all wait for a stream to end, and then fail to unlink
 * a file and to read a socket, 20 times each, and let others run. Prints how many they were.
 */
void workload_crowd(unsigned long threads);

/*
 * Operations on a block device, OPERATION:OFFSET:LENGTH each; prints a line of JSON for each.
 * Returns the exit status.
 */
int workload_block(const char *device, char *const *operations);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A log that fio replays with --read_iolog, version 3 of its format, each line with its time in us. Of vfs it has reads and
 * writes with the bytes that were done, and what was synchronised; of block, whose files are the disks, what was discarded
 * and flushed, too. What failed or moved nothing is not replayed, nor what fio cannot be told: where there is no offset or
 * no path, or that is longer than FIO_NAME_MAX. White space, control characters and backslashes in paths stay escaped. One
 * thread.
 */
#pragma once

#include <stdio.h>

#include "export/sink.h"

enum {
	FIO_NAME_MAX = 255,
	FIO_FILES_MAX = 1 << 18, /* fio reads the whole log before it begins, and has room for each file */
};

/* The stream is borrowed. NULL: out of memory. */
struct export_sink *fio_new(FILE *stream);

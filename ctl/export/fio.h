/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A log that fio replays with --read_iolog, version 3 of its format, each line with its time in us. Of vfs it has reads and
 * writes with the bytes that were done, and what was synchronised; of block, whose files are the disks, what was flushed, too, and
 * what was discarded where that is wanted. What failed or moved nothing is not replayed, nor what has no offset or no path. Files are
 * named as fio_files.h says, which is known when all rows were seen, so lines are kept in a scratch file until then. One thread.
 */
#pragma once

#include "export/sink.h"

/* The target is borrowed. NULL: out of memory, or no place for the scratch file. */
struct export_sink *fio_new(const struct export_target *target);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What exports need of a row, of whichever stream. One thread. */
#pragma once

#include "reading/facts.h"
#include "reading/merge.h"

struct export_row {
	enum iotr_stream stream;
	/* As rows have them, escaped; "": unknown. Valid as long as the row is. */
	struct trace_text time, operation, command, file, inode, device, disk, flags;
	uint64_t begin_ns, end_ns; /* on the clock that the merge goes by; the same where it is not known how long it took */
	uint64_t pid, tid;
	uint64_t asked, done; /* bytes */
	uint64_t offset;      /* bytes; of a disk from its start */
	uint64_t flow;	      /* 0: none */
	bool has_offset, failed;
};

struct export_reader;

/* NULL: out of memory. */
struct export_reader *export_reader_new(void);
void export_reader_free(struct export_reader *reader);

/* Reads a row, which is borrowed. */
void export_reader_read(struct export_reader *reader, const struct merged_row *merged, struct export_row *row);

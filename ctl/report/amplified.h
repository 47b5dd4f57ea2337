/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often I/O multiplied, by command, from the rows of a trace: by the definition of common/formulas.h, to which rows are counts of
 * layers. Application: calls that move data of files, io_uring, libaio and copies included, and faults of mapped files; device:
 * requests of disks that are made of no others. In bounded memory. One thread.
 */
#pragma once

#include <json-c/json.h>

#include "layer_counts.h"
#include "reading/facts.h"
#include "reading/summary.h"
#include "reading/top.h"

struct amplified {
	struct top commands; /* keys are commands; layers are those of amplified.c */
	struct top_sum all[TOP_LAYERS];
};

/* All-zero first. -ENOMEM. amplified_done() must follow. */
int amplified_init(struct amplified *amplified);

/* A row; `moves`: bits of enum iotr_moves. */
void amplified_row(struct amplified *amplified, const struct facts_columns *columns, const struct trace_rows *rows,
		   const struct facts *facts, unsigned int moves);

/* `most`: so many commands, those with the most bytes; the others are one. The caller owns it. */
struct json_object *amplified_object(const struct amplified *amplified, const struct summary *summary, size_t most);

void amplified_done(struct amplified *amplified);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filters of common/filters.def, judged on rows of a trace as the kernel judges events: a row must pass all of them, of
 * a list any value. Differences: descendants (`tree`) are found by the parents that rows name, so those are not whose
 * line of parents made no rows; and `pseudo_fs` lets nothing more through than was recorded. One thread.
 */
#pragma once

#include <json-c/json.h>

#include "filter_values.h"
#include "reading/cgroups.h"
#include "reading/facts.h"

struct row_filter {
	uint32_t streams;     /* bit per stream */
	uint32_t given;	      /* bit per enum iotr_spec_filter */
	uint32_t *pids, *uids;
	size_t pid_count, uid_count;
	uint8_t *descendants; /* bit per PID, of --tree */
	struct iotr_operations operations[IOTR_STREAM_COUNT];
	/* Texts as rows have them: escaped. */
	char **commands, **cgroups, **units, **devices, **disks, **paths;
	size_t command_count, cgroup_count, unit_count, device_count, disk_count, path_count;
	uint64_t min_latency_ns, min_size;
	uint32_t sample[IOTR_STREAM_COUNT];
	uint64_t random; /* state of the numbers that samples are drawn by */
	char since[32], until[32]; /* timestamps as rows have them, or the beginning of one; "": none */
};

/*
 * From the parameters that the options of `start` make: see command_line/session_options.h. Returns 0, or -EINVAL and
 * what is wrong with which `*parameter`, which is borrowed. row_filter_done() must follow.
 */
int row_filter_init(struct row_filter *filter, struct json_object *parameters, const char **parameter,
		    char message[FILTER_MESSAGE_SIZE]);
void row_filter_done(struct row_filter *filter);

/* Whether the current row passes. `names`: what its cgroup stands for. */
bool row_filter_passes(struct row_filter *filter, const struct facts_columns *columns, const struct trace_rows *rows,
		       const struct cgroup_names *names);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The groups that the method Top tells, as a table for people. One thread. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct top_view {
	const char *sort; /* "rows", "bytes" or "latency" */
	const char *by;	  /* "process", ...; NULL: by process, operation and file */
	int width;	  /* columns of the screen; 0: no limit. Where it is narrow, the lesser columns are left out */
	uint64_t lines;	  /* that are shown at most */
	uint64_t wanted_lines; /* what the user has said of it; 0: nothing */
	bool (*passes)(const char *text, void *userdata); /* whether a group with this name is to be shown */
	void *userdata;
};

/* Constants of these names; NULL where there is none. */
const char *top_sort_named(const char *name);
const char *top_by_named(const char *name); /* takes NULL */

/* The next one, and after the last the first. */
const char *top_next_sort(const char *sort);
const char *top_next_by(const char *by);

/* Returns the number of lines before the first group. */
size_t print_top(const struct top_view *view, struct json_object *reply, FILE *stream);

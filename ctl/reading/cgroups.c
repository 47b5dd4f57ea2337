// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/cgroups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup_table.h"
#include "cleanup.h"
#include "trace_rows.h"
#include "verify/trace.h"

enum {
	NAMES_MAX = 1 << 17, /* twice what a daemon writes */
	BYTES_MAX = 512 << 20, /* of text; the manifest does not say how long it is, and whoever made it up may have made it endless */
};

static int compare(const void *a, const void *b)
{
	const struct cgroup_name *left = a, *right = b;

	return left->id < right->id ? -1 : left->id > right->id;
}

static char *copy(const struct trace_rows *rows, int column)
{
	return column < 0 ? strdup("") : strndup(rows->cells[column].at, rows->cells[column].length);
}

static bool is_there(const struct trace_rows *rows, int column)
{
	return column >= 0 && rows->cells[column].length;
}

static void take(struct cgroup_names *names, const struct trace_rows *rows, const int columns[4])
{
	struct cgroup_name *name = &names->names[names->count];
	int best = 0;

	while (best < 3 && !is_there(rows, columns[best]))
		best++;
	name->name = copy(rows, columns[best]);
	name->path = copy(rows, columns[3]);
	name->unit = copy(rows, columns[0]);
	names->count++;
}

static void read_all(struct cgroup_names *names, struct trace_rows *rows)
{
	int columns[4] = { trace_rows_column(rows, "unit"), trace_rows_column(rows, "container_id"),
			   trace_rows_column(rows, "pod_uid"), trace_rows_column(rows, "path") };
	int id = trace_rows_column(rows, "cgroup_id");

	rows->rows_max = NAMES_MAX;
	rows->bytes_max = BYTES_MAX;
	while (names->count < NAMES_MAX && trace_rows_next(rows) > 0)
		if (trace_text_u64(rows->cells[id], &names->names[names->count].id))
			take(names, rows, columns);
}

void cgroup_names_read(int folder_fd, struct cgroup_names *names)
{
	static const char *const files[] = { CGROUPS_NAME, CGROUPS_NAME ".gz", CGROUPS_NAME ".part" };
	static const char *const wanted[] = { "cgroup_id", "path" };
	_cleanup_close_ int fd = verify_open_folder(folder_fd, CGROUPS_FOLDER);
	struct trace_rows rows = { 0 };
	int r = -ENOENT;

	*names = (struct cgroup_names){ .names = calloc(NAMES_MAX, sizeof(*names->names)) };
	for (size_t i = 0; fd >= 0 && names->names && r == -ENOENT && i < sizeof(files) / sizeof(files[0]); i++) {
		trace_rows_close(&rows);
		r = trace_rows_open(&rows, fd, files[i], IOTR_FORMAT_CSV, wanted, 2);
	}
	if (r >= 0)
		read_all(names, &rows);
	trace_rows_close(&rows);
	if (names->count)
		qsort(names->names, names->count, sizeof(*names->names), compare);
}

void cgroup_names_done(struct cgroup_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		free(names->names[i].name);
		free(names->names[i].path);
		free(names->names[i].unit);
	}
	free(names->names);
	*names = (struct cgroup_names){ 0 };
}

const struct cgroup_name *cgroup_names_find(const struct cgroup_names *names, uint64_t id)
{
	struct cgroup_name key = { .id = id };

	return names->count ? bsearch(&key, names->names, names->count, sizeof(key), compare) : NULL;
}

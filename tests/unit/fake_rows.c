// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_rows.h"

#include <limits.h>
#include <stdio.h>

#include "json_add.h"

struct json_object *fake_stream_status(const char *folder, const char *output)
{
	static const char *const losses[] = { "ring", "queue", "disk", "unmatched" };
	struct json_object *stream = json_object_new_object(), *lost = json_object_new_object();
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/%s", output, folder);
	for (size_t i = 0; i < 4; i++)
		json_object_object_add(lost, losses[i], json_object_new_int64(i == 1 ? 3 : 0));
	json_object_object_add(stream, "emitted", json_object_new_int64(1234567));
	json_object_object_add(stream, "written", json_object_new_int64(1234564));
	json_object_object_add(stream, "lost", lost);
	json_object_object_add(stream, "bytes", json_object_new_int64(98765432));
	json_object_object_add(stream, "segments", json_object_new_int64(2));
	add_string(stream, "path", path);
	return stream;
}

struct json_object *fake_row(const char *name)
{
	struct json_object *object = json_object_new_object(), *columns = json_object_new_object();

	add_string(object, "stream", "vfs");
	add_string(columns, "timestamp", "2024-05-06 07:08:09.123456789");
	add_string(columns, "operation", "READ");
	add_string(columns, "pid", "4711");
	add_string(columns, "tid", "4711");
	add_string(columns, "command", name);
	add_string(columns, "filename", "/etc/passwd");
	add_string(columns, "size", "4096");
	add_string(columns, "latency_ns", "12345");
	add_string(columns, "mmap_prot", "");
	json_object_object_add(object, "columns", columns);
	return object;
}

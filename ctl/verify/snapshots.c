// SPDX-License-Identifier: GPL-2.0-or-later
#include "verify/snapshots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "output/json.h"
#include "schema.h"
#include "sha256_hex.h"
#include "trace_file.h"

enum { PIECE = 65536 };

bool verify_is_snapshot_folder(const char *name)
{
	for (size_t i = 0; i < IOTR_SNAPSHOT_SCHEMAS; i++)
		if (!strcmp(name, iotr_snapshot_schemas[i].folder))
			return true;
	return false;
}

/* Accepts only FOLDER/FILE with a folder of snapshots. */
static bool path_good(const char *path)
{
	const char *slash = strchr(path, '/');
	char folder[32];

	if (!slash || strchr(slash + 1, '/') || !slash[1] || slash[1] == '.' ||
	    (size_t)(slash - path) >= sizeof(folder))
		return false;
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	return verify_is_snapshot_folder(folder);
}

/*
 * Returns the size of the file's text in bytes, or a negative errno, and the SHA-256. Stops reading after more
 * than `most` bytes.
 */
static int64_t read_text(struct trace_file *file, int64_t most, char sha256[SHA256_HEX_SIZE],
			 struct verify_report *report)
{
	_cleanup_free_ char *buffer = malloc(PIECE);
	struct sha256_ctx hash;
	int64_t bytes = 0;
	ssize_t n = buffer ? 1 : -ENOMEM;

	sha256_init(&hash);
	while (n > 0 && bytes <= most && (n = trace_file_read(file, buffer, PIECE)) > 0) {
		sha256_update(&hash, (size_t)n, (uint8_t *)buffer);
		verify_progress(report, (uint64_t)n);
		bytes += n;
	}
	sha256_hex(&hash, sha256);
	return n < 0 ? n : bytes;
}

/* The same for a file given by its path. */
static int64_t read_file(struct verify_trace *trace, const char *path, int64_t most,
			 char sha256[SHA256_HEX_SIZE], struct verify_report *report)
{
	const char *slash = strchr(path, '/');
	_cleanup_close_ int folder = -1;
	struct trace_file file;
	char name[32];
	int64_t bytes;

	snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
	folder = verify_open_folder(trace->folder_fd, name);
	if (folder < 0)
		return -errno;
	bytes = trace_file_open(folder, slash + 1, &file);
	if (bytes < 0)
		return bytes;
	bytes = read_text(&file, most, sha256, report);
	trace->snapshots_read++;
	trace->bytes_read += bytes < 0 ? 0 : (uint64_t)bytes;
	trace->stored_read += file.size;
	trace_file_close(&file);
	return bytes;
}

static void check_file(struct verify_trace *trace, struct json_object *entry, const char *path,
		       struct verify_report *report)
{
	struct json_object *value = member_of(entry, "bytes");
	int64_t said = json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : -1;
	const char *sum = string_of(entry, "sha256");
	char sha256[SHA256_HEX_SIZE];
	int64_t bytes;

	report->file = path;
	bytes = read_file(trace, path, said, sha256, report);
	if (bytes < 0)
		verify_say(report, VERIFY_WRONG, path, "%s", verify_file_error((int)bytes));
	else if (bytes != said || !sum || strcmp(sum, sha256))
		verify_say(report, VERIFY_WRONG, path, "its size or SHA-256 differs from the manifest");
}

static void check_entry(struct verify_trace *trace, struct json_object *entry, struct verify_report *report)
{
	const char *path = string_of(entry, "path"), *message = string_of(entry, "message");

	if (path && !path_good(path))
		verify_say(report, VERIFY_WRONG, MANIFEST_NAME, "the path of a snapshot is invalid");
	else if (path)
		check_file(trace, entry, path, report);
	if (message)
		verify_say(report, VERIFY_NOTE, path ?: string_of(entry, "kind") ?: "", "%.300s", message);
}

void verify_snapshots(struct verify_trace *trace, struct verify_report *report)
{
	struct json_object *list = member_of(trace->json, "snapshots");

	for (size_t i = 0; i < count_of(list); i++)
		check_entry(trace, json_object_array_get_idx(list, i), report);
}

uint64_t verify_snapshots_bytes(const struct verify_trace *trace)
{
	struct json_object *list = member_of(trace->json, "snapshots");
	uint64_t bytes = 0;

	for (size_t i = 0; i < count_of(list); i++)
		bytes += number_of(json_object_array_get_idx(list, i), "bytes");
	return bytes;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **verify_snapshots_paths(const struct verify_trace *trace, size_t *count)
{
	struct json_object *list = member_of(trace->json, "snapshots");
	const char **paths = calloc(count_of(list) + 1, sizeof(*paths));

	*count = 0;
	for (size_t i = 0; paths && i < count_of(list); i++) {
		paths[*count] = string_of(json_object_array_get_idx(list, i), "path");
		*count += paths[*count] != NULL;
	}
	if (paths)
		qsort(paths, *count, sizeof(*paths), compare_paths);
	return paths;
}

bool verify_knows_snapshot(const char *const *paths, size_t count, const char *path)
{
	return paths && bsearch(&path, paths, count, sizeof(*paths), compare_paths);
}

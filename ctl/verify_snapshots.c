// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of snapshots: their text is as the manifest says. */
#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "trace_file.h"
#include "verify.h"

enum { PIECE = 65536 };

static struct json_object *member(struct json_object *entry, const char *key, enum json_type type)
{
	struct json_object *value = NULL;

	if (json_object_is_type(entry, json_type_object))
		json_object_object_get_ex(entry, key, &value);
	return json_object_is_type(value, type) ? value : NULL;
}

static const char *text(struct json_object *entry, const char *key)
{
	struct json_object *value = member(entry, key, json_type_string);

	return value ? json_object_get_string(value) : NULL;
}

bool verify_is_snapshot_folder(const char *name)
{
	return !strcmp(name, "filesystem_snapshot") || !strcmp(name, "process") ||
	       !strcmp(name, "system_spec");
}

/* FOLDER/FILE, the folder being one of snapshots. */
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

/* Bytes of the file's text, or a negative errno, and their SHA-256 in hex. */
static int64_t read_text(struct trace_file *file, char sha256[65], struct verify_report *report)
{
	_cleanup_free_ char *buffer = malloc(PIECE);
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx hash;
	int64_t bytes = 0;
	ssize_t n = buffer ? 1 : -ENOMEM;

	sha256_init(&hash);
	while (n > 0 && (n = trace_file_read(file, buffer, PIECE)) > 0) {
		sha256_update(&hash, (size_t)n, (uint8_t *)buffer);
		verify_progress(report, (uint64_t)n);
		bytes += n;
	}
	sha256_digest(&hash, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(sha256 + 2 * i, 3, "%02x", digest[i]);
	return n < 0 ? n : bytes;
}

static void check_file(const struct verify_trace *trace, struct json_object *entry, const char *path,
		       struct verify_report *report)
{
	_cleanup_close_ int folder = -1;
	struct json_object *said = member(entry, "bytes", json_type_int);
	const char *sum = text(entry, "sha256"), *slash = strchr(path, '/');
	struct trace_file file = { .fd = -1 };
	char name[32], sha256[65];
	int64_t bytes;

	snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
	folder = openat(trace->folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bytes = folder < 0 ? -errno : trace_file_open(folder, slash + 1, &file);
	if (bytes >= 0) {
		bytes = read_text(&file, sha256, report);
		trace_file_close(&file);
	}
	if (bytes == -ENOENT)
		verify_say(report, VERIFY_WRONG, path, "it is missing");
	else if (bytes < 0)
		verify_say(report, VERIFY_WRONG, path, "it cannot be read: %s", strerror((int)-bytes));
	else if (!said || json_object_get_int64(said) != bytes || !sum || strcmp(sum, sha256))
		verify_say(report, VERIFY_WRONG, path, "its text is not what the manifest says");
}

static void check_entry(const struct verify_trace *trace, struct json_object *entry,
			struct verify_report *report)
{
	const char *path = text(entry, "path"), *message = text(entry, "message");

	if (path && !path_good(path))
		verify_say(report, VERIFY_WRONG, "manifest.json", "a snapshot's path is none");
	else if (path)
		check_file(trace, entry, path, report);
	if (message)
		verify_say(report, VERIFY_NOTE, path ?: text(entry, "kind") ?: "", "%.300s", message);
}

void verify_snapshots(const struct verify_trace *trace, struct verify_report *report)
{
	struct json_object *list = member(trace->json, "snapshots", json_type_array);

	for (size_t i = 0; list && i < json_object_array_length(list); i++)
		check_entry(trace, json_object_array_get_idx(list, i), report);
}

bool verify_knows_snapshot(const struct verify_trace *trace, const char *path)
{
	struct json_object *list = member(trace->json, "snapshots", json_type_array);

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		const char *known = text(json_object_array_get_idx(list, i), "path");

		if (known && !strcmp(known, path))
			return true;
	}
	return false;
}

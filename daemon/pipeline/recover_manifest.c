// SPDX-License-Identifier: GPL-2.0-or-later
/* The manifest of a killed daemon's session: as it was, and as it will be. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "anonymize_manifest.h"
#include "cleanup.h"
#include "manifest.h"
#include "recover_private.h"

#define MANIFEST_MAX (64 * 1024 * 1024)

const char *recover_text(struct json_object *object, const char *key)
{
	struct json_object *value = json_object_object_get(object, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

uint64_t recover_number(struct json_object *object, const char *key)
{
	return json_object_get_uint64(json_object_object_get(object, key));
}

size_t recover_length(struct json_object *array)
{
	return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

void recover_set_u64(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

void recover_set_text(struct json_object *object, const char *key, const char *value)
{
	json_object_object_add(object, key, json_object_new_string(value));
}

/* ---- the manifest as it was ---- */

/* A whole one, or NULL; an error where nobody knows whether there is one. */
static int load_manifest(int folder_fd, struct json_object **ret)
{
	_cleanup_close_ int fd = recover_open(folder_fd, MANIFEST_NAME);
	_cleanup_json_ struct json_object *json = NULL;
	_cleanup_free_ char *content = NULL;
	struct stat status;
	ssize_t size;

	*ret = NULL;
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (fstat(fd, &status) < 0)
		return -errno;
	if (status.st_size > MANIFEST_MAX)
		return 0;
	content = malloc((size_t)status.st_size + 1);
	if (!content)
		return -ENOMEM;
	size = pread(fd, content, (size_t)status.st_size, 0);
	if (size < 0)
		return -errno;
	content[size] = '\0';
	json = json_tokener_parse(content);
	if (json_object_is_type(json_object_object_get(json, "streams"), json_type_object))
		*ret = TAKE(json);
	return 0;
}

/* For a manifest that the crash took. When it began, only its definition may tell. */
static struct json_object *make_manifest(const struct recover_config *config)
{
	struct manifest manifest = { 0 };
	struct manifest_config frame = {
		.streams = config->streams,
		.session = config->session,
		.definition = config->definition,
		.anonymize_key = config->anonymize_key,
		.owner_uid = config->owner_uid,
		.start = clocks_measure(),
	};

	struct json_object *made = NULL;

	if (manifest_init(&manifest, &frame) < 0)
		return NULL;
	if (manifest.anonymizer)
		iotr_anonymize_manifest(manifest.anonymizer, manifest.constant, &made);
	else
		made = json_object_get(manifest.constant);
	manifest_done(&manifest);
	return made;
}

static bool is_ended(struct json_object *manifest)
{
	const char *state = recover_text(manifest, "state");

	return state && !strcmp(state, "ended");
}

int recover_manifest_extent(int folder_fd, struct recover_extent *ret)
{
	_cleanup_json_ struct json_object *manifest = NULL;
	struct json_object *before;
	int r = load_manifest(folder_fd, &manifest);

	if (r < 0)
		return r;
	if (!manifest || !is_ended(manifest))
		return -ENODATA;
	before = json_object_object_get(json_object_object_get(manifest, "definition"), "before");
	*ret = (struct recover_extent){ recover_number(before, "rows"), recover_number(before, "bytes") };
	json_object_object_foreach(json_object_object_get(manifest, "streams"), flag, description) {
		(void)flag;
		ret->rows += recover_number(description, "written");
		ret->bytes += recover_number(description, "bytes");
	}
	return 0;
}

/* Segments of the manifest by their paths without .gz and .part, as there may be many. */
static struct json_object *index_known(struct json_object *manifest)
{
	struct json_object *segments = json_object_object_get(manifest, "segments");
	struct json_object *known = json_object_new_object();

	for (size_t i = 0; i < recover_length(segments); i++) {
		struct json_object *segment = json_object_array_get_idx(segments, i);
		char path[2 * RECOVER_NAME_MAX];

		snprintf(path, sizeof(path), "%s", recover_text(segment, "path") ?: "");
		recover_strip(path);
		json_object_object_add(known, path, json_object_get(segment));
	}
	return known;
}

struct json_object *recover_manifest_find(const struct recovery *recovery, const char *folder,
					  const char *name)
{
	char path[2 * RECOVER_NAME_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return json_object_object_get(recovery->known, path);
}

int recover_manifest_begin(struct recovery *recovery)
{
	int r = load_manifest(recovery->folder_fd, &recovery->manifest);

	if (r < 0)
		return r;
	if (recovery->manifest && is_ended(recovery->manifest))
		return 0;
	if (!recovery->manifest)
		recovery->manifest = make_manifest(recovery->config);
	if (!recovery->manifest)
		return -ENOMEM;
	recovery->known = index_known(recovery->manifest);
	recovery->segments = json_object_new_array();
	return 1;
}

/* ---- the manifest as it will be ---- */

static uint64_t sum_lost(struct json_object *description)
{
	static const char *const causes[] = { "ring", "queue", "disk", "unmatched" };
	struct json_object *lost = json_object_object_get(description, "lost");
	uint64_t sum = 0;

	if (!json_object_is_type(lost, json_type_object)) {
		lost = json_object_new_object();
		for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
			recover_set_u64(lost, causes[i], 0);
		json_object_object_add(description, "lost", lost);
	}
	json_object_object_foreach(lost, cause, value) {
		(void)cause;
		sum += json_object_get_uint64(value);
	}
	return sum;
}

static uint64_t sum_bytes(struct json_object *segments, const char *flag)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < recover_length(segments); i++) {
		struct json_object *segment = json_object_array_get_idx(segments, i);

		if (!strcmp(recover_text(segment, "stream") ?: "", flag))
			bytes += recover_number(segment, "bytes");
	}
	return bytes;
}

/* Those of segments that were removed so long ago that they are not listed any more. */
static uint64_t bytes_forgotten(const struct recovery *recovery, const char *flag,
				struct json_object *description)
{
	uint64_t listed = sum_bytes(json_object_object_get(recovery->manifest, "segments"), flag);
	uint64_t all = recover_number(description, "bytes");

	return all > listed ? all - listed : 0;
}

/* Rows that are there are counted; of what was lost since the last manifest nobody knows. */
static void count_stream(struct recovery *recovery, const char *flag,
			 struct json_object *description)
{
	uint64_t written = recover_number(description, "removed"), lost = sum_lost(description);
	uint64_t bytes = bytes_forgotten(recovery, flag, description) + sum_bytes(recovery->segments, flag);
	struct json_object *lost_by = json_object_object_get(description, "lost");

	for (size_t i = 0; i < json_object_array_length(recovery->segments); i++) {
		struct json_object *segment = json_object_array_get_idx(recovery->segments, i);
		const char *state = recover_text(segment, "state");

		if (strcmp(recover_text(segment, "stream") ?: "", flag) ||
		    (state && !strcmp(state, "removed")))
			continue;
		written += recover_number(segment, "rows");
	}
	recover_set_u64(description, "emitted", written + lost);
	recover_set_u64(description, "received", written + recover_number(lost_by, "queue") + recover_number(lost_by, "disk"));
	recover_set_u64(description, "written", written);
	recover_set_u64(description, "bytes", bytes);
	json_object_object_add(description, "emitted_unknown", json_object_new_boolean(true));
}

static void add_gap(struct recovery *recovery, const char *now)
{
	struct json_object *gaps = json_object_object_get(recovery->manifest, "gaps");
	struct json_object *gap = json_object_new_object();
	const char *started = recover_text(recovery->manifest, "started");

	recover_set_text(gap, "from", *recovery->last_time ? recovery->last_time : started ?: now);
	recover_set_text(gap, "to", now);
	recover_set_text(gap, "reason", "crash");
	if (!json_object_is_type(gaps, json_type_array)) {
		gaps = json_object_new_array();
		json_object_object_add(recovery->manifest, "gaps", gaps);
	}
	json_object_array_add(gaps, gap);
}

void recover_manifest_end(struct recovery *recovery)
{
	struct clocks clocks = clocks_measure();
	struct json_object *manifest = recovery->manifest;

	recover_set_text(manifest, "state", "ended");
	recover_set_text(manifest, "reason", "crash");
	manifest_add_time(manifest, "ended", clocks.mono_ns, &clocks);
	json_object_object_foreach(json_object_object_get(manifest, "streams"), flag, description)
		count_stream(recovery, flag, description);
	add_gap(recovery, recover_text(manifest, "ended"));
	json_object_object_add(manifest, "segments", json_object_get(recovery->segments));
}

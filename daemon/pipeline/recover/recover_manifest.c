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
#include "writer/losses.h"
#include "writer/manifest.h"
#include "recover_private.h"

/* ---- the manifest as it was ---- */

/* Loads the manifest if it is complete, otherwise NULL; an error when it is unknown whether there is one. */
static int load_manifest(int folder_fd, struct manifest_reader *reader, struct json_object **ret)
{
	_cleanup_json_ struct json_object *json = NULL;
	int r = manifest_file_load(folder_fd, reader, &json);

	*ret = NULL;
	if (r < 0)
		return r == -ENOENT || r == -EBADMSG || r == -EFBIG ? 0 : r;
	if (json_object_is_type(json_object_object_get(json, "streams"), json_type_object))
		*ret = TAKE(json);
	return 0;
}

/* Makes a manifest in place of one that the crash destroyed. Only its definition may tell when the session began. */
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
	const char *state = string_of(manifest, "state");

	return state && !strcmp(state, "ended");
}

int recover_manifest_extent(int folder_fd, struct recover_extent *ret)
{
	_cleanup_(manifest_reader_done) struct manifest_reader reader = { 0 };
	_cleanup_json_ struct json_object *manifest = NULL;
	struct json_object *before;
	int r = load_manifest(folder_fd, &reader, &manifest);

	if (r < 0)
		return r;
	if (!manifest || !is_ended(manifest))
		return -ENODATA;
	before = json_object_object_get(json_object_object_get(manifest, "definition"), "before");
	*ret = (struct recover_extent){ number_of(before, "rows"), number_of(before, "bytes") };
	json_object_object_foreach(json_object_object_get(manifest, "streams"), flag, description) {
		(void)flag;
		ret->rows += number_of(description, "written");
		ret->bytes += number_of(description, "bytes");
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct recover_known *one = a, *other = b;

	return recover_compare(one->path, other->path);
}

static int add_known(struct recovery *recovery, size_t *room, const struct recover_known *known)
{
	if (recovery->known_count == *room) {
		size_t more = *room + *room / 4 + 64;
		struct recover_known *grown = reallocarray(recovery->known, more, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		recovery->known = grown;
		*room = more;
	}
	recovery->known[recovery->known_count++] = *known;
	return 0;
}

/* Indexes the manifest's segments by their paths without .gz and .part, as there may be many. */
static int index_known(struct recovery *recovery)
{
	struct manifest_reader *reader = &recovery->reader;
	struct json_object *segment;
	size_t room = 0;
	int r;

	while ((r = manifest_reader_next(reader, &segment)) > 0) {
		struct recover_known known = { strdup(string_of(segment, "path") ?: ""), reader->from, reader->size };

		json_object_put(segment);
		if (!known.path || add_known(recovery, &room, &known) < 0) {
			free(known.path);
			return -ENOMEM;
		}
		segment_name_strip(known.path);
	}
	if (recovery->known_count)
		qsort(recovery->known, recovery->known_count, sizeof(*recovery->known), compare);
	return r;
}

struct json_object *recover_manifest_read(struct recovery *recovery, const struct recover_known *known)
{
	return manifest_reader_again(&recovery->reader, known->from, known->size);
}

struct json_object *recover_manifest_find(struct recovery *recovery, const char *folder, const char *name)
{
	char path[2 * SEGMENT_NAME_MAX];
	const struct recover_known key = { .path = path }, *known;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	known = !recovery->known_count ? NULL :
					 bsearch(&key, recovery->known, recovery->known_count, sizeof(key), compare);
	return known ? recover_manifest_read(recovery, known) : NULL;
}

static void forget_known(struct recovery *recovery)
{
	for (size_t i = 0; i < recovery->known_count; i++)
		free(recovery->known[i].path);
	free(TAKE(recovery->known));
	recovery->known_count = 0;
}

/* 1: there is one, and all of it can be read. */
static int take_manifest(struct recovery *recovery)
{
	int r = load_manifest(recovery->folder_fd, &recovery->reader, &recovery->manifest);

	if (r < 0 || !recovery->manifest)
		return r;
	if (is_ended(recovery->manifest))
		return 1;
	r = index_known(recovery);
	if (r != -EBADMSG && r != -EFBIG)
		return r < 0 ? r : 1;
	forget_known(recovery);
	json_object_put(TAKE(recovery->manifest));
	return 0;
}

int recover_manifest_begin(struct recovery *recovery)
{
	int r = take_manifest(recovery);

	if (r < 0)
		return r;
	if (r && is_ended(recovery->manifest))
		return 0;
	if (!r)
		recovery->manifest = make_manifest(recovery->config);
	return recovery->manifest ? 1 : -ENOMEM;
}

void recover_manifest_done(struct recovery *recovery)
{
	forget_known(recovery);
	manifest_segments_done(&recovery->segments);
	manifest_reader_done(&recovery->reader);
	json_object_put(recovery->manifest);
}

/* ---- the manifest as it will be ---- */

static uint64_t sum_lost(struct json_object *description)
{
	struct json_object *lost = json_object_object_get(description, "lost");
	uint64_t sum = 0;

	if (!json_object_is_type(lost, json_type_object)) {
		lost = json_object_new_object();
		for (enum loss_cause cause = 0; cause < LOSS_CAUSES; cause++)
			add_u64(lost, loss_names[cause], 0);
		json_object_object_add(description, "lost", lost);
	}
	json_object_object_foreach(lost, cause, value)
		if (strcmp(cause, "names")) /* names missing in rows that exist */
			sum += json_object_get_uint64(value);
	return sum;
}

void recover_manifest_add(struct recovery *recovery, struct json_object *segment)
{
	const char *state = string_of(segment, "state");

	if (!state || strcmp(state, "removed"))
		recovery->sums.rows += number_of(segment, "rows");
	recovery->sums.bytes += number_of(segment, "bytes");
	manifest_segments_add_json(&recovery->segments, segment);
}

/* The bytes of segments that were removed so long ago that they are no longer listed. */
static uint64_t bytes_forgotten(const struct recovery *recovery, struct json_object *description)
{
	uint64_t listed = recovery->sums.listed_bytes, all = number_of(description, "bytes");

	return all > listed ? all - listed : 0;
}

/* Counts the rows that exist; how many were lost since the last manifest is unknown. */
void recover_manifest_count(struct recovery *recovery, struct json_object *description)
{
	uint64_t written = number_of(description, "removed") + recovery->sums.rows, lost = sum_lost(description);
	uint64_t bytes = bytes_forgotten(recovery, description) + recovery->sums.bytes;
	struct json_object *lost_by = json_object_object_get(description, "lost");

	add_u64(description, "emitted", written + lost);
	add_u64(description, "received", written + number_of(lost_by, "queue") + number_of(lost_by, "disk"));
	add_u64(description, "written", written);
	add_u64(description, "bytes", bytes);
	json_object_object_add(description, "emitted_unknown", json_object_new_boolean(true));
	recovery->sums = (struct recover_sums){ 0 };
}

static void add_gap(struct recovery *recovery, const char *now)
{
	struct json_object *gaps = json_object_object_get(recovery->manifest, "gaps");
	struct json_object *gap = json_object_new_object();
	const char *started = string_of(recovery->manifest, "started");

	add_string(gap, "from", *recovery->last_time ? recovery->last_time : started ?: now);
	add_string(gap, "to", now);
	add_string(gap, "reason", "crash");
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

	add_u64(manifest, "schema_version", MANIFEST_SCHEMA);
	add_string(manifest, "state", "ended");
	add_string(manifest, "reason", "crash");
	manifest_add_time(manifest, "ended", clocks.mono_ns, &clocks);
	add_gap(recovery, string_of(manifest, "ended"));
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* One stream of a session: which segments it has now, and what the manifest says of those that have no file. */
#include "recover_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "inside.h"
#include "log.h"

#define COLUMNS_MAX  256
#define OTHERS_WRITE 022

static int open_stream(int folder_fd, const char *name)
{
	_cleanup_close_ int fd = inside_folder(folder_fd, name);
	struct stat status;

	if (fd < 0)
		return fd;
	if (fstat(fd, &status) < 0)
		return -errno;
	return status.st_uid == (uid_t)setfsuid((uid_t)-1) && !(status.st_mode & OTHERS_WRITE) ?
		       take_fd(&fd) :
		       -EPERM;
}

/*
 * If the compressor was killed between its last two steps, both files exist: the .gz is removed, as
 * the segment itself is what counts.
 */
static void drop_double(const struct recover_stream *stream, struct recover_files *files)
{
	const unsigned int gzip = 1 << SEGMENT_PACKED;
	char packed[SEGMENT_FILE_MAX];

	snprintf(packed, sizeof(packed), "%s%s", files->name, segment_endings[SEGMENT_PACKED]);
	if (files->endings & gzip && files->endings != gzip && !unlinkat(stream->fd, packed, 0))
		files->endings &= ~gzip;
}

static void note_last_time(struct recovery *recovery, struct json_object *segment)
{
	const char *last = string_of(segment, "last_time");

	if (last && strcmp(last, recovery->last_time) > 0)
		snprintf(recovery->last_time, sizeof(recovery->last_time), "%s", last);
}

static int take_segment(struct recovery *recovery, const struct recover_stream *stream,
			struct recover_files *files)
{
	_cleanup_json_ struct json_object *known = recover_manifest_find(recovery, stream->folder, files->name);
	_cleanup_json_ struct json_object *segment = NULL;
	int r;

	drop_double(stream, files);
	r = recover_segment(stream, files, known, &segment);
	if (r == -ECANCELED)
		return r;
	if (r == -ENOENT) /* retention removed it meanwhile, and notes that in the manifest later */
		segment = TAKE(known);
	else if (r < 0)
		log_warning("%s/%s/%s: cannot be recovered, and stays as it is: %s", stream->output, stream->folder,
			    files->name, strerror(-r));
	if (r < 0 && r != -ENOENT)
		segment = known ? TAKE(known) : recover_describe_open(stream, files);
	if (!segment)
		return 0;
	note_last_time(recovery, segment);
	recover_manifest_add(recovery, segment);
	return 0;
}

/*
 * Whether retention of an older daemon, which made no marks, removed the segment: it removes the oldest, so that all existing ones come
 * later, and only closed ones.
 */
static bool was_removed(const struct recovery *recovery, const char *missing,
			const struct recover_listing *listing, struct json_object *segment)
{
	const char *state = string_of(segment, "state");

	if (json_object_get_boolean(json_object_object_get(recovery->manifest, "removals_marked")))
		return false;
	return recovery->config->retention && state && strcmp(state, "open") &&
	       (!listing->count || recover_compare(missing, listing->files[0].name) < 0);
}

static void note_removed(struct json_object *description, struct json_object *segment, enum iotr_removal limit)
{
	const char *state = string_of(segment, "state");

	if (state && !strcmp(state, "removed"))
		return;
	add_string(segment, "state", "removed");
	add_u64(segment, "stored_bytes", 0);
	json_object_object_del(segment, "stored_sha256");
	add_string(segment, "removed_by", iotr_removal_keys[limit]);
	add_u64(description, "removed", number_of(description, "removed") + number_of(segment, "rows"));
	iotr_removal_add(description, limit, number_of(segment, "rows"), 1);
}

/* Counts a removed segment that is not listed, or with what it had before it was closed. */
static void count_removed(struct recovery *recovery, struct json_object *description, const struct segment_mark *mark)
{
	add_u64(description, "removed", number_of(description, "removed") + mark->rows);
	iotr_removal_add(description, mark->limit, mark->rows, 1);
	recovery->sums.bytes += mark->bytes;
}

/* Counts what was closed and removed after the manifest was last written. */
static void count_unlisted(struct recovery *recovery, const struct recover_listing *listing, struct json_object *description)
{
	for (size_t i = 0; i < listing->mark_count; i++) {
		const struct segment_mark *mark = &listing->marks[i];

		if (mark->segment.number > listing->last && !recover_is_listed(listing, mark->segment.name))
			count_removed(recovery, description, mark);
	}
}

/* Keeps a segment of this stream in the manifest if it has no file. */
static void keep_if_missing(struct recovery *recovery, const struct recover_stream *stream,
			    struct recover_listing *listing, struct json_object *segment, struct json_object *description)
{
	const char *flag = string_of(segment, "stream"), *path = string_of(segment, "path");
	const char *slash = path ? strchr(path, '/') : NULL;
	const struct segment_mark *mark;
	struct segment_name key;

	if (!flag || strcmp(flag, stream->flag))
		return;
	recovery->sums.listed_bytes += number_of(segment, "bytes");
	if (!slash || !segment_name_parse(stream->folder, slash + 1, &key))
		return;
	listing->last = key.number > listing->last ? key.number : listing->last;
	if (recover_is_listed(listing, key.name))
		return;
	mark = recover_find_mark(listing, key.number);
	if (mark && mark->rows && mark->rows != number_of(segment, "rows")) {
		count_removed(recovery, description, mark);
		return;
	}
	if (mark)
		note_removed(description, segment, mark->limit);
	else if (stream->fd >= 0 && was_removed(recovery, key.name, listing, segment))
		note_removed(description, segment, IOTR_REMOVAL_UNRECORDED);
	note_last_time(recovery, segment);
	recover_manifest_add(recovery, segment);
}

/* Segments without a file stay in the manifest: removed by retention, or missing. */
static void keep_missing(struct recovery *recovery, const struct recover_stream *stream,
			 struct recover_listing *listing, struct json_object *description)
{
	size_t length = strlen(stream->folder);

	for (size_t i = 0; i < recovery->known_count; i++) {
		const struct recover_known *known = &recovery->known[i];
		_cleanup_json_ struct json_object *segment = NULL;

		if (strncmp(known->path, stream->folder, length) || known->path[length] != '/')
			continue; /* of another stream, and not read for this one */
		segment = recover_manifest_read(recovery, known);
		if (segment)
			keep_if_missing(recovery, stream, listing, segment, description);
	}
}

/* Takes the columns from the manifest, as the files have them: an older daemon may have written them. */
static int take_columns(struct json_object *description, struct trace_columns *columns)
{
	struct json_object *array = json_object_object_get(description, "columns");
	size_t count = count_of(array), size = 0;
	const char **names;
	char *header, *at;

	for (size_t i = 0; i < count; i++)
		size += strlen(string_of(json_object_array_get_idx(array, i), "name") ?: "") + 1;
	if (count < 2 || count > COLUMNS_MAX)
		return -EBADMSG;
	names = calloc(count, sizeof(*names));
	header = at = malloc(size + 1);
	*columns = (struct trace_columns){ names, count, header, size };
	if (!names || !header)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		names[i] = string_of(json_object_array_get_idx(array, i), "name") ?: "";
		at = stpcpy(at, names[i]);
		*at++ = ',';
	}
	at[-1] = '\n';
	return 0;
}

static void columns_done(struct trace_columns *columns)
{
	free((void *)(uintptr_t)columns->names);
	free((void *)(uintptr_t)columns->header);
}

/* Nothing is listed where the stream's folder cannot be used. */
static int walk_stream(struct recovery *recovery, const struct recover_stream *stream,
		       struct json_object *description)
{
	struct recover_listing listing = { 0 };
	int r = stream->fd < 0 ? 0 : recover_list(stream, &listing);

	if (r >= 0)
		keep_missing(recovery, stream, &listing, description);
	if (r >= 0)
		count_unlisted(recovery, &listing, description);
	for (size_t i = 0; r >= 0 && i < listing.count; i++)
		r = take_segment(recovery, stream, &listing.files[i]);
	free(listing.files);
	free(listing.marks);
	if (r >= 0)
		recover_manifest_count(recovery, description);
	return r;
}

static bool is_name(const char *name)
{
	return name && *name && *name != '.' && !strchr(name, '/') && strlen(name) < SEGMENT_NAME_MAX;
}

int recover_stream(struct recovery *recovery, const char *flag, struct json_object *description)
{
	_cleanup_close_ int fd = -1;
	_cleanup_(columns_done) struct trace_columns columns = { 0 };
	struct recover_stream stream = {
		.flag = flag,
		.folder = string_of(description, "folder"),
		.output = recovery->config->output,
		.cancel = recovery->config->cancel,
	};
	int r;

	if (!is_name(stream.folder))
		return -EBADMSG;
	r = take_columns(description, &columns);
	if (r < 0)
		return r;
	fd = open_stream(recovery->folder_fd, stream.folder);
	if (fd < 0)
		log_warning("%s/%s: cannot be recovered, and stays as it is: %s", stream.output, stream.folder,
			    strerror(-fd));
	stream.fd = fd;
	stream.columns = columns;
	return walk_stream(recovery, &stream, description);
}

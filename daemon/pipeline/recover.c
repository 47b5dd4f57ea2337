// SPDX-License-Identifier: GPL-2.0-or-later
#include "recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"
#include "log.h"
#include "manifest.h"
#include "recover_segment.h"
#include "schema.h"
#include "trace_file.h"

#define MANIFEST_MAX  (64 * 1024 * 1024)
#define COLUMNS_MAX   256
#define OTHERS_WRITE  022

DEFINE_CLEANUP(DIR *, closedir);

/* A folder being set right. */
struct recovery {
	const struct recover_config *config;
	int folder_fd;
	struct json_object *manifest; /* as it was, then as it will be */
	struct json_object *known;    /* its segments by path */
	struct json_object *segments; /* new list */
	char last_time[TRACE_TIME_SIZE]; /* of the last row; "" while there is none */
};

/* All files of one stream's segments, in the order of their numbers. */
struct listing {
	struct recover_files *files;
	size_t count, capacity;
};

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (json_object_is_type(object, json_type_object))
		json_object_object_get_ex(object, key, &value);
	return value;
}

static const char *text(struct json_object *object, const char *key)
{
	struct json_object *value = member(object, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

static uint64_t number(struct json_object *object, const char *key)
{
	return json_object_get_uint64(member(object, key));
}

static void set_u64(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

static void set_text(struct json_object *object, const char *key, const char *value)
{
	json_object_object_add(object, key, json_object_new_string(value));
}

/* ---- the folder ---- */

static int open_folder(const struct recover_config *config)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS,
	};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, config->output, &how, sizeof(how));
	struct stat status;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &status) && status.st_ino == config->inode)
		return fd;
	close(fd);
	return -ESTALE;
}

static int open_stream(int folder_fd, const char *name)
{
	_cleanup_close_ int fd =
		openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) < 0)
		return -errno;
	return status.st_uid == geteuid() && !(status.st_mode & OTHERS_WRITE) ? take_fd(&fd) :
										-EPERM;
}

/* ---- the manifest as it was ---- */

static struct json_object *load_manifest(int folder_fd)
{
	_cleanup_close_ int fd = recover_open(folder_fd, MANIFEST_NAME);
	_cleanup_free_ char *content = NULL;
	struct json_object *json;
	struct stat status;
	ssize_t size;

	if (fd < 0 || fstat(fd, &status) < 0 || status.st_size > MANIFEST_MAX)
		return NULL;
	content = malloc((size_t)status.st_size + 1);
	size = content ? pread(fd, content, (size_t)status.st_size, 0) : -1;
	if (size < 0)
		return NULL;
	content[size] = '\0';
	json = json_tokener_parse(content);
	if (json_object_is_type(json, json_type_object) &&
	    json_object_is_type(member(json, "streams"), json_type_object))
		return json;
	json_object_put(json);
	return NULL;
}

/* For a manifest that the crash took. When it began, only its definition may tell. */
static struct json_object *make_manifest(const struct recover_config *config)
{
	struct manifest manifest = { 0 };
	struct manifest_config frame = {
		.streams = config->streams,
		.session = config->session,
		.definition = config->definition,
		.owner_uid = config->owner_uid,
		.start = clocks_measure(),
	};

	if (manifest_init(&manifest, &frame) < 0)
		return NULL;
	return manifest.constant;
}

static bool is_ended(struct json_object *manifest)
{
	const char *state = text(manifest, "state");

	return state && !strcmp(state, "ended");
}

/* Segments of the manifest by their paths without .gz and .part, as there may be many. */
static struct json_object *index_known(struct json_object *manifest)
{
	struct json_object *segments = member(manifest, "segments");
	struct json_object *known = json_object_new_object();
	size_t count = json_object_is_type(segments, json_type_array) ?
			       json_object_array_length(segments) : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *segment = json_object_array_get_idx(segments, i);
		char path[2 * RECOVER_NAME_MAX];

		snprintf(path, sizeof(path), "%s", text(segment, "path") ?: "");
		recover_strip(path);
		json_object_object_add(known, path, json_object_get(segment));
	}
	return known;
}

/* What the manifest says of the segment FOLDER/NAME. */
static struct json_object *find_known(const struct recovery *recovery, const char *folder,
				      const char *name)
{
	char path[2 * RECOVER_NAME_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return member(recovery->known, path);
}

/* ---- files of a stream ---- */

static int compare(const void *a, const void *b)
{
	const struct recover_files *one = a, *other = b;

	/* Numbers are padded; where they grew longer, the longer is the later. */
	size_t length = strlen(one->name), size = strlen(other->name);

	return length == size ? strcmp(one->name, other->name) : length < size ? -1 : 1;
}

static int add_file(struct listing *listing, const struct recover_files *file)
{
	if (listing->count == listing->capacity) {
		size_t capacity = listing->capacity ? 2 * listing->capacity : 64;
		struct recover_files *files = reallocarray(listing->files, capacity, sizeof(*files));

		if (!files)
			return -ENOMEM;
		listing->files = files;
		listing->capacity = capacity;
	}
	listing->files[listing->count++] = *file;
	return 0;
}

/* Several files of one segment become one entry. */
static void join(struct listing *listing)
{
	size_t kept = 0;

	if (!listing->count)
		return;
	qsort(listing->files, listing->count, sizeof(*listing->files), compare);
	for (size_t i = 1; i < listing->count; i++) {
		struct recover_files *last = &listing->files[kept], *file = &listing->files[i];

		if (strcmp(last->name, file->name)) {
			listing->files[++kept] = *file;
			continue;
		}
		last->plain |= file->plain;
		last->gzip |= file->gzip;
		last->part |= file->part;
	}
	listing->count = kept + 1;
}

/* What was half made is removed: it can be made again from what it was made of. */
static int list_files(const struct recover_stream *stream, struct listing *listing)
{
	_cleanup_(closedirp) DIR *folder = NULL;
	int fd = openat(stream->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	const struct dirent *entry;

	folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder)
		return -errno;
	while (r >= 0 && (entry = readdir(folder))) {
		struct recover_files file;

		if (!recover_name(stream, entry->d_name, &file))
			continue;
		if (file.gzip && file.part)
			unlinkat(stream->fd, entry->d_name, 0);
		else
			r = add_file(listing, &file);
	}
	join(listing);
	return r;
}

/* The compressor was killed between its last two steps: the segment itself is what counts. */
static void drop_double(const struct recover_stream *stream, struct recover_files *files)
{
	char packed[RECOVER_NAME_MAX + 8];

	snprintf(packed, sizeof(packed), "%s.gz", files->name);
	if ((files->plain || files->part) && files->gzip && !unlinkat(stream->fd, packed, 0))
		files->gzip = false;
}

static void note_last_time(struct recovery *recovery, struct json_object *segment)
{
	const char *last = text(segment, "last_time");

	if (last && strcmp(last, recovery->last_time) > 0)
		snprintf(recovery->last_time, sizeof(recovery->last_time), "%s", last);
}

static int take_segment(struct recovery *recovery, const struct recover_stream *stream,
			struct recover_files *files)
{
	struct json_object *known = find_known(recovery, stream->folder, files->name);
	struct json_object *segment = NULL;
	int r;

	drop_double(stream, files);
	r = recover_segment(stream, files, known, &segment);
	if (r == -ECANCELED)
		return r;
	if (r < 0)
		log_warning("%s/%s/%s: left as it is: %s", stream->output, stream->folder,
			    files->name, strerror(-r));
	if (r < 0 && known)
		segment = json_object_get(known);
	if (!segment)
		return 0;
	note_last_time(recovery, segment);
	return json_object_array_add(recovery->segments, segment);
}

/* Segments without a file stay in the manifest: removed by retention, or missing. */
static int keep_missing(struct recovery *recovery, const struct recover_stream *stream,
			const struct listing *listing)
{
	struct json_object *segments = member(recovery->manifest, "segments");
	size_t count = json_object_is_type(segments, json_type_array) ?
			       json_object_array_length(segments) : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *segment = json_object_array_get_idx(segments, i);
		const char *path = text(segment, "path"), *flag = text(segment, "stream");
		const char *slash = path ? strchr(path, '/') : NULL;
		struct recover_files key;

		if (!flag || strcmp(flag, stream->flag) || !slash ||
		    !recover_name(stream, slash + 1, &key) || !number(segment, "rows"))
			continue;
		if (listing->count && bsearch(&key, listing->files, listing->count, sizeof(key), compare))
			continue;
		note_last_time(recovery, segment);
		if (json_object_array_add(recovery->segments, json_object_get(segment)) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- one stream ---- */

/* As the files have them: an older daemon may have written them. */
static int take_columns(struct json_object *description, struct trace_columns *columns)
{
	struct json_object *array = member(description, "columns");
	size_t count = json_object_is_type(array, json_type_array) ?
			       json_object_array_length(array) : 0, size = 0;
	const char **names;
	char *header, *at;

	for (size_t i = 0; i < count; i++)
		size += strlen(text(json_object_array_get_idx(array, i), "name") ?: "") + 1;
	if (count < 2 || count > COLUMNS_MAX)
		return -EBADMSG;
	names = calloc(count, sizeof(*names));
	header = at = malloc(size + 1);
	*columns = (struct trace_columns){ names, count, header, size };
	if (!names || !header)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		names[i] = text(json_object_array_get_idx(array, i), "name") ?: "";
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

static int walk_stream(struct recovery *recovery, const struct recover_stream *stream)
{
	struct listing listing = { 0 };
	int r = list_files(stream, &listing);

	if (r >= 0)
		r = keep_missing(recovery, stream, &listing);
	for (size_t i = 0; r >= 0 && i < listing.count; i++)
		r = take_segment(recovery, stream, &listing.files[i]);
	free(listing.files);
	return r;
}

static bool is_name(const char *name)
{
	return name && *name && *name != '.' && !strchr(name, '/') && strlen(name) < RECOVER_NAME_MAX / 2;
}

static int recover_stream(struct recovery *recovery, const char *flag,
			  struct json_object *description)
{
	_cleanup_close_ int fd = -1;
	_cleanup_(columns_done) struct trace_columns columns = { 0 };
	struct recover_stream stream = {
		.flag = flag,
		.folder = text(description, "folder"),
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
	if (fd < 0) {
		log_warning("%s/%s: left as it is: %s", stream.output, stream.folder, strerror(-fd));
		return 0;
	}
	stream.fd = fd;
	stream.columns = columns;
	return walk_stream(recovery, &stream);
}

/* ---- the manifest as it will be ---- */

static uint64_t sum_lost(struct json_object *description)
{
	static const char *const causes[] = { "ring", "queue", "disk", "unmatched" };
	struct json_object *lost = member(description, "lost");
	uint64_t sum = 0;

	if (!json_object_is_type(lost, json_type_object)) {
		lost = json_object_new_object();
		for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
			set_u64(lost, causes[i], 0);
		json_object_object_add(description, "lost", lost);
	}
	json_object_object_foreach(lost, cause, value) {
		(void)cause;
		sum += json_object_get_uint64(value);
	}
	return sum;
}

/* Rows that are there are counted; of what was lost since the last manifest nobody knows. */
static void count_stream(struct recovery *recovery, const char *flag,
			 struct json_object *description)
{
	uint64_t written = number(description, "removed"), lost = sum_lost(description), bytes = 0;
	struct json_object *lost_by = member(description, "lost");

	for (size_t i = 0; i < json_object_array_length(recovery->segments); i++) {
		struct json_object *segment = json_object_array_get_idx(recovery->segments, i);
		const char *state = text(segment, "state");

		if (strcmp(text(segment, "stream") ?: "", flag) ||
		    (state && !strcmp(state, "removed")))
			continue;
		written += number(segment, "rows");
		bytes += number(segment, "bytes");
	}
	set_u64(description, "emitted", written + lost);
	set_u64(description, "received", written + number(lost_by, "queue") + number(lost_by, "disk"));
	set_u64(description, "written", written);
	set_u64(description, "bytes", bytes);
	json_object_object_add(description, "emitted_unknown", json_object_new_boolean(true));
}

static void add_gap(struct recovery *recovery, const char *now)
{
	struct json_object *gaps = member(recovery->manifest, "gaps");
	struct json_object *gap = json_object_new_object();
	const char *started = text(recovery->manifest, "started");

	set_text(gap, "from", *recovery->last_time ? recovery->last_time : started ?: now);
	set_text(gap, "to", now);
	set_text(gap, "reason", "crash");
	if (!json_object_is_type(gaps, json_type_array)) {
		gaps = json_object_new_array();
		json_object_object_add(recovery->manifest, "gaps", gaps);
	}
	json_object_array_add(gaps, gap);
}

static void end_manifest(struct recovery *recovery)
{
	struct clocks clocks = clocks_measure();
	struct json_object *manifest = recovery->manifest;

	set_text(manifest, "state", "ended");
	set_text(manifest, "reason", "crash");
	manifest_add_time(manifest, "ended", clocks.mono_ns, &clocks);
	json_object_object_foreach(member(manifest, "streams"), flag, description)
		count_stream(recovery, flag, description);
	add_gap(recovery, text(manifest, "ended"));
	json_object_object_add(manifest, "segments", json_object_get(recovery->segments));
}

static int recover(struct recovery *recovery)
{
	int r;

	unlinkat(recovery->folder_fd, MANIFEST_NAME ".tmp", 0);
	json_object_object_foreach(member(recovery->manifest, "streams"), flag, description) {
		r = recover_stream(recovery, flag, description);
		if (r < 0)
			return r;
	}
	end_manifest(recovery);
	r = manifest_replace(recovery->folder_fd, recovery->manifest);
	if (r >= 0 && syncfs(recovery->folder_fd) < 0)
		r = -errno;
	return r < 0 ? r : 1;
}

int recover_folder(const struct recover_config *config)
{
	_cleanup_close_ int fd = open_folder(config);
	struct recovery recovery = { .config = config, .folder_fd = fd };
	int r;

	if (fd < 0)
		return fd;
	recovery.manifest = load_manifest(fd);
	if (recovery.manifest && is_ended(recovery.manifest)) {
		json_object_put(recovery.manifest);
		return 0;
	}
	if (!recovery.manifest)
		recovery.manifest = make_manifest(config);
	recovery.known = index_known(recovery.manifest);
	recovery.segments = json_object_new_array();
	r = recovery.manifest ? recover(&recovery) : -ENOMEM;
	json_object_put(recovery.segments);
	json_object_put(recovery.known);
	json_object_put(recovery.manifest);
	return r;
}

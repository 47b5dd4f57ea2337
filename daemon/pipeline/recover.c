// SPDX-License-Identifier: GPL-2.0-or-later
#include "recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"
#include "inside.h"
#include "log.h"
#include "manifest.h"
#include "recover_private.h"

#define COLUMNS_MAX  256
#define OTHERS_WRITE 022

DEFINE_CLEANUP(DIR *, closedir);

/* All files of one stream's segments, in the order of their numbers. */
struct listing {
	struct recover_files *files;
	size_t count, capacity;
};

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

/* ---- files of a stream ---- */

/* Numbers are zero-padded; of two that differ in length, the longer is the later. */
int recover_compare(const char *one, const char *other)
{
	size_t length = strlen(one), size = strlen(other);

	return length == size ? strcmp(one, other) : length < size ? -1 : 1;
}

static int compare(const void *a, const void *b)
{
	const struct recover_files *one = a, *other = b;

	return recover_compare(one->name, other->name);
}

static int add_file(struct listing *listing, const struct segment_name *segment)
{
	struct recover_files *file;

	if (listing->count == listing->capacity) {
		size_t capacity = listing->capacity ? 2 * listing->capacity : 64;
		struct recover_files *files = reallocarray(listing->files, capacity, sizeof(*files));

		if (!files)
			return -ENOMEM;
		listing->files = files;
		listing->capacity = capacity;
	}
	file = &listing->files[listing->count++];
	strcpy(file->name, segment->name);
	file->endings = 1U << segment->ending;
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
		last->endings |= file->endings;
	}
	listing->count = kept + 1;
}

/* Lists the files of the stream. A .gz that is half made is removed: it can be made again from the text file. */
static int list_files(const struct recover_stream *stream, struct listing *listing)
{
	_cleanup_close_ int fd = openat(stream->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closedirp) DIR *folder = NULL;
	const struct dirent *entry;
	int r = 0;

	folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder)
		return -errno;
	take_fd(&fd);
	while (r >= 0 && (entry = readdir(folder))) {
		struct segment_name segment;

		if (!segment_name_parse(stream->folder, entry->d_name, &segment))
			continue;
		if (segment.ending == SEGMENT_PACKED_PART)
			unlinkat(stream->fd, entry->d_name, 0);
		else
			r = add_file(listing, &segment);
	}
	join(listing);
	return r;
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
	const char *last = recover_text(segment, "last_time");

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
		log_warning("%s/%s/%s: left as it is: %s", stream->output, stream->folder,
			    files->name, strerror(-r));
	if (r < 0 && r != -ENOENT)
		segment = known ? TAKE(known) : recover_describe_open(stream, files);
	if (!segment)
		return 0;
	note_last_time(recovery, segment);
	recover_manifest_add(recovery, segment);
	return 0;
}

static bool is_listed(const struct listing *listing, const char *name)
{
	struct recover_files key;

	strcpy(key.name, name);
	return listing->count && bsearch(&key, listing->files, listing->count, sizeof(key), compare);
}

/*
 * Whether retention removed the segment: it removes the oldest, so that all existing ones come
 * later, and only closed ones.
 */
static bool was_removed(const struct recovery *recovery, const char *missing,
			const struct listing *listing, struct json_object *segment)
{
	const char *state = recover_text(segment, "state");

	return recovery->config->retention && state && strcmp(state, "open") &&
	       (!listing->count || recover_compare(missing, listing->files[0].name) < 0);
}

static void note_removed(struct json_object *description, struct json_object *segment)
{
	const char *state = recover_text(segment, "state");

	if (state && !strcmp(state, "removed"))
		return;
	recover_set_text(segment, "state", "removed");
	recover_set_u64(segment, "stored_bytes", 0);
	recover_set_u64(description, "removed",
			recover_number(description, "removed") + recover_number(segment, "rows"));
}

/* Keeps a segment of this stream in the manifest if it has no file. */
static void keep_if_missing(struct recovery *recovery, const struct recover_stream *stream,
			    const struct listing *listing, struct json_object *segment, struct json_object *description)
{
	const char *flag = recover_text(segment, "stream"), *path = recover_text(segment, "path");
	const char *slash = path ? strchr(path, '/') : NULL;
	struct segment_name key;

	if (!flag || strcmp(flag, stream->flag))
		return;
	recovery->sums.listed_bytes += recover_number(segment, "bytes");
	if (!slash || !segment_name_parse(stream->folder, slash + 1, &key))
		return;
	if (is_listed(listing, key.name))
		return;
	if (stream->fd >= 0 && was_removed(recovery, key.name, listing, segment))
		note_removed(description, segment);
	note_last_time(recovery, segment);
	recover_manifest_add(recovery, segment);
}

/* Segments without a file stay in the manifest: removed by retention, or missing. */
static void keep_missing(struct recovery *recovery, const struct recover_stream *stream,
			 const struct listing *listing, struct json_object *description)
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

/* ---- one stream ---- */

/* Takes the columns from the manifest, as the files have them: an older daemon may have written them. */
static int take_columns(struct json_object *description, struct trace_columns *columns)
{
	struct json_object *array = json_object_object_get(description, "columns");
	size_t count = recover_length(array), size = 0;
	const char **names;
	char *header, *at;

	for (size_t i = 0; i < count; i++)
		size += strlen(recover_text(json_object_array_get_idx(array, i), "name") ?: "") + 1;
	if (count < 2 || count > COLUMNS_MAX)
		return -EBADMSG;
	names = calloc(count, sizeof(*names));
	header = at = malloc(size + 1);
	*columns = (struct trace_columns){ names, count, header, size };
	if (!names || !header)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		names[i] = recover_text(json_object_array_get_idx(array, i), "name") ?: "";
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
	struct listing listing = { 0 };
	int r = stream->fd < 0 ? 0 : list_files(stream, &listing);

	if (r >= 0)
		keep_missing(recovery, stream, &listing, description);
	for (size_t i = 0; r >= 0 && i < listing.count; i++)
		r = take_segment(recovery, stream, &listing.files[i]);
	free(listing.files);
	if (r >= 0)
		recover_manifest_count(recovery, description);
	return r;
}

static bool is_name(const char *name)
{
	return name && *name && *name != '.' && !strchr(name, '/') && strlen(name) < SEGMENT_NAME_MAX;
}

static int recover_stream(struct recovery *recovery, const char *flag,
			  struct json_object *description)
{
	_cleanup_close_ int fd = -1;
	_cleanup_(columns_done) struct trace_columns columns = { 0 };
	struct recover_stream stream = {
		.flag = flag,
		.folder = recover_text(description, "folder"),
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
		log_warning("%s/%s: left as it is: %s", stream.output, stream.folder, strerror(-fd));
	stream.fd = fd;
	stream.columns = columns;
	return walk_stream(recovery, &stream, description);
}

static int recover(struct recovery *recovery)
{
	int r;

	unlinkat(recovery->folder_fd, MANIFEST_NAME ".tmp", 0);
	json_object_object_foreach(json_object_object_get(recovery->manifest, "streams"), flag, description) {
		r = recover_stream(recovery, flag, description);
		if (r < 0)
			return r;
	}
	recover_manifest_end(recovery);
	r = manifest_file_replace(recovery->folder_fd, NULL, recovery->manifest, &recovery->segments, NULL);
	if (r >= 0 && syncfs(recovery->folder_fd) < 0)
		r = -errno;
	return r < 0 ? r : 1;
}

/* Like rmdir(2), but no symbolic link in the path is followed. */
int recover_remove_empty(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	_cleanup_free_ char *parent = strdup(path);
	_cleanup_close_ int fd = -1;
	char *slash = parent ? strrchr(parent, '/') : NULL;

	if (!slash)
		return parent ? -EINVAL : -ENOMEM;
	*slash = '\0';
	fd = (int)syscall(SYS_openat2, AT_FDCWD, *parent ? parent : "/", &how, sizeof(how));
	if (fd < 0 || unlinkat(fd, slash + 1, AT_REMOVEDIR) < 0)
		return -errno;
	return 0;
}

int recover_extent(const struct recover_config *config, struct recover_extent *ret)
{
	const struct rights *before = rights_use(config->rights);
	_cleanup_close_ int fd = open_folder(config);
	int r = fd < 0 ? fd : recover_manifest_extent(fd, ret);

	rights_use(before);
	return r;
}

static int recover_as(const struct recover_config *config)
{
	_cleanup_close_ int fd = open_folder(config);
	struct recovery recovery = { .config = config, .folder_fd = fd };
	int r;

	if (fd < 0)
		return fd;
	r = recover_manifest_begin(&recovery);
	if (r > 0)
		r = recover(&recovery);
	recover_manifest_done(&recovery);
	return r;
}

int recover_folder(const struct recover_config *config)
{
	const struct rights *before = rights_use(config->rights);
	int r = recover_as(config);

	rights_use(before);
	return r;
}

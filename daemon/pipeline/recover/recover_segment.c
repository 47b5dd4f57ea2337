// SPDX-License-Identifier: GPL-2.0-or-later
#include "recover_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "inside.h"
#include "log.h"
#include "trace_read.h"

/* The ending of the file that is the segment, of those that are there. */
static enum segment_ending ending_of(const struct recover_files *files)
{
	if (files->endings & 1 << SEGMENT_PLAIN)
		return SEGMENT_PLAIN;
	return files->endings & 1 << SEGMENT_PART ? SEGMENT_PART : SEGMENT_PACKED;
}

/* ---- what the manifest knows ---- */

static uint64_t size_of(const struct recover_stream *stream, const char *name)
{
	struct stat status;

	return fstatat(stream->fd, name, &status, AT_SYMLINK_NOFOLLOW) ? 0 :
									 (uint64_t)status.st_size;
}

static bool has_text(struct json_object *object, const char *key)
{
	return json_object_is_type(json_object_object_get(object, key), json_type_string);
}

/*
 * Whether the segment was closed before the crash, and has the size it had then. What a daemon closed that wrote
 * manifests of version 1 has a SHA-256 of its text, which stays.
 */
static bool is_known(const struct recover_stream *stream, const struct recover_files *files,
		     struct json_object *known)
{
	if (!has_text(known, "xxh128") && !has_text(known, "sha256"))
		return false;
	if (ending_of(files) == SEGMENT_PLAIN)
		return size_of(stream, files->name) ==
		       json_object_get_uint64(json_object_object_get(known, "bytes"));
	return ending_of(files) == SEGMENT_PACKED;
}

static void set(struct json_object *object, const char *key, struct json_object *value)
{
	json_object_object_add(object, key, value);
}

/* Sets path, state and size of the segment's file, which is closed now. */
static void describe_file(const struct recover_stream *stream, const struct recover_files *files,
			   struct json_object *object)
{
	bool packed = ending_of(files) == SEGMENT_PACKED;
	char path[2 * SEGMENT_FILE_MAX];

	snprintf(path, sizeof(path), "%s/%s%s", stream->folder, files->name,
		 segment_endings[packed ? SEGMENT_PACKED : SEGMENT_PLAIN]);
	set(object, "stream", json_object_new_string(stream->flag));
	set(object, "path", json_object_new_string(path));
	set(object, "state", json_object_new_string(packed ? "compressed" : "closed"));
	set(object, "stored_bytes",
	    json_object_new_uint64(size_of(stream, strchr(path, '/') + 1)));
	if (!packed) /* what was compressed is not there, but the text is */
		json_object_object_del(object, "stored_sha256");
}

struct json_object *recover_describe_open(const struct recover_stream *stream,
					  const struct recover_files *files)
{
	struct json_object *object = json_object_new_object();

	describe_file(stream, files, object);
	set(object, "state", json_object_new_string("open"));
	set(object, "rows", json_object_new_uint64(0));
	set(object, "bytes", json_object_new_uint64(0));
	set(object, "xxh128", NULL);
	return object;
}

static void describe_rows(const struct trace_scan *scan, const struct trace_read *read,
			  struct json_object *object)
{
	set(object, "rows", json_object_new_uint64(scan->rows));
	set(object, "bytes", json_object_new_uint64(read->bytes));
	set(object, "xxh128", json_object_new_string(read->xxh128));
	if (*read->stored_sha256)
		set(object, "stored_sha256", json_object_new_string(read->stored_sha256));
	set(object, "recovered", json_object_new_boolean(true));
	if (!scan->rows)
		return;
	set(object, "first_time", json_object_new_string(scan->least_time));
	set(object, "last_time", json_object_new_string(scan->greatest_time));
	set(object, "first_mono_ns", json_object_new_uint64(scan->least_ns));
	set(object, "last_mono_ns", json_object_new_uint64(scan->greatest_ns));
}

/* ---- the file ---- */

static bool go_on(uint64_t bytes, void *cancel)
{
	(void)bytes;
	return !atomic_load((_Atomic bool *)cancel);
}

static int scan_file(const struct recover_stream *stream, const char *name, struct trace_scan *scan,
		     struct trace_read *read)
{
	struct segment_name segment;
	int r;

	trace_scan_done(scan);
	if (!segment_name_parse(stream->folder, name, &segment))
		return -EINVAL;
	r = trace_scan_init(scan, segment.format, &stream->columns);
	if (r < 0)
		return r;
	*read = (struct trace_read){ .wants_stored_sha256 = true, .progress = go_on, .userdata = stream->cancel };
	return trace_read(stream->fd, name, scan, read);
}

static int cut(const struct recover_stream *stream, const char *name, uint64_t size)
{
	_cleanup_close_ int fd = inside_open(stream->fd, name, O_RDWR, UINT64_MAX);

	if (fd < 0)
		return fd;
	log_notice("%s/%s/%s: truncated after its last complete row, at byte %" PRIu64, stream->output,
		   stream->folder, name, size);
	return ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
}

/*
 * Scans the file, cuts it after the end of the last row, and then scans what is left, as its checksum
 * is of the rows alone. A line between rows that is not a row stays: recovery does not judge it,
 * and `verify` names it.
 */
static int make_whole(const struct recover_stream *stream, const char *name, bool gzip,
		      struct trace_scan *scan, struct trace_read *read)
{
	int r = scan_file(stream, name, scan, read);

	if (r < 0)
		return r;
	if (scan->stopped || (scan->begun && !scan->header_good))
		return -EBADMSG;
	if (scan->bad_rows)
		log_warning("%s/%s/%s: row %" PRIu64 " stays, but is not valid: %s", stream->output,
			    stream->folder, name, scan->first_bad, scan->bad_because);
	if (!trace_scan_rest(scan))
		return 0;
	if (gzip)
		return -EBADMSG;
	r = cut(stream, name, scan->bytes);
	return r < 0 ? r : scan_file(stream, name, scan, read);
}

/* Syncs the file before it gets its final name: the next crash may be the machine's. */
static int close_part(const struct recover_stream *stream, const char *part, const char *name)
{
	_cleanup_close_ int fd = inside_open(stream->fd, part, O_RDWR, UINT64_MAX);

	if (fd < 0)
		return fd;
	if (fdatasync(fd) < 0)
		return -errno;
	return renameat2(stream->fd, part, stream->fd, name, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

static int recover_file(const struct recover_stream *stream, const struct recover_files *files,
			struct trace_scan *scan, struct trace_read *read)
{
	enum segment_ending ending = ending_of(files);
	char file[SEGMENT_FILE_MAX];
	int r;

	snprintf(file, sizeof(file), "%s%s", files->name, segment_endings[ending]);
	r = make_whole(stream, file, ending == SEGMENT_PACKED, scan, read);
	if (r < 0)
		return r;
	if (!scan->begun)
		return unlinkat(stream->fd, file, 0) < 0 ? -errno : 0;
	return ending == SEGMENT_PART ? close_part(stream, file, files->name) : 0;
}

/* The manifest may not have been told yet that the file was compressed. */
static int hash_packed(const struct recover_stream *stream, const struct recover_files *files,
		       struct json_object *object)
{
	struct trace_read read = { .progress = go_on, .userdata = stream->cancel };
	char file[SEGMENT_FILE_MAX];
	int r;

	if (ending_of(files) != SEGMENT_PACKED || has_text(object, "stored_sha256"))
		return 0;
	snprintf(file, sizeof(file), "%s%s", files->name, segment_endings[SEGMENT_PACKED]);
	r = trace_read_stored(stream->fd, file, &read);
	if (r >= 0)
		set(object, "stored_sha256", json_object_new_string(read.stored_sha256));
	return r;
}

/* Takes what the manifest said of a segment that was closed. */
static int take_known(const struct recover_stream *stream, const struct recover_files *files,
		      struct json_object *known, struct json_object **ret)
{
	_cleanup_json_ struct json_object *object = NULL;
	int r;

	if (json_object_deep_copy(known, &object, NULL) < 0)
		return -ENOMEM;
	describe_file(stream, files, object);
	r = hash_packed(stream, files, object);
	if (r >= 0)
		*ret = TAKE(object);
	return r;
}

int recover_segment(const struct recover_stream *stream, const struct recover_files *files,
		    struct json_object *known, struct json_object **ret)
{
	struct trace_scan scan = { 0 };
	struct trace_read read;
	int r;

	*ret = NULL;
	if (is_known(stream, files, known))
		return take_known(stream, files, known, ret);
	r = recover_file(stream, files, &scan, &read);
	if (r >= 0 && scan.begun) {
		*ret = json_object_new_object();
		describe_file(stream, files, *ret);
		describe_rows(&scan, &read, *ret);
	}
	trace_scan_done(&scan);
	return r;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The segments of a trace, one after the other, and a manifest that tells of the new ones. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "anonymize.h"
#include "cleanup.h"
#include "output.h"
#include "verb.h"
#include "write_all.h"

#define MANIFEST      "manifest.json"
#define TEMPORARY     MANIFEST ".tmp"
#define FOLDER_MODE   0750
#define MANIFEST_MODE 0640

/* The member of the manifest that describes the stream, and what its segments are there. */
static struct json_object *stream_of(struct verify_trace *trace, const struct verify_segment *segment)
{
	return member_of(member_of(trace->json, "streams"), segment->stream->flag);
}

static void set_number(struct json_object *object, const char *key, uint64_t number)
{
	json_object_object_add(object, key, json_object_new_uint64(number));
}

/* `bytes` of a stream is what its rows take. */
static void update(struct json_object *object, struct json_object *stream,
		   const struct verify_segment *segment, const struct anonymize_written *written)
{
	uint64_t bytes = number_of(stream, "bytes");
	uint64_t before = segment->bytes - written->header, after = written->bytes - written->header;

	set_number(stream, "bytes", bytes > before ? bytes - before + after : after);
	set_number(object, "bytes", written->bytes);
	json_object_object_add(object, "sha256", json_object_new_string(written->sha256));
	if (member_of(object, "stored_bytes"))
		set_number(object, "stored_bytes", written->stored);
}

static int open_folder(int parent_fd, const char *name)
{
	return openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int anonymize_folder(int parent_fd, const char *name)
{
	int fd = -1;

	if (mkdirat(parent_fd, name, FOLDER_MODE) == 0 || errno == EEXIST)
		fd = open_folder(parent_fd, name);
	if (fd < 0)
		complain(NULL, "%s: %s", name, strerror(errno));
	return fd;
}

static struct anonymize_known columns_of(const struct verify_segment *segment)
{
	int stream = iotr_stream_find(segment->stream->flag);

	if (stream < 0)
		return (struct anonymize_known){ 0 };
	return (struct anonymize_known){ iotr_schemas[stream].columns, iotr_schemas[stream].column_count };
}

static int one_segment(struct iotr_anonymizer *anonymizer, struct verify_trace *trace,
		       const struct verify_segment *segment, struct json_object *object, int to_fd,
		       struct anonymize_totals *totals)
{
	const char *folder = segment->stream->folder;
	_cleanup_close_ int from = open_folder(trace->folder_fd, folder), to = anonymize_folder(to_fd, folder);
	const struct anonymize_known known = columns_of(segment);
	struct anonymize_written written;
	char file[sizeof(segment->name) + 8];
	int code;

	if (from < 0 || to < 0)
		return EXIT_FAILED; /* verify has read it: it went away since */
	verify_segment_file(from, segment, file, sizeof(file));
	code = anonymize_segment(anonymizer, segment, &known, file, from, to, &written);
	if (code != EXIT_DONE)
		return code;
	update(object, stream_of(trace, segment), segment, &written);
	totals->segments++;
	totals->rows += written.rows;
	totals->bytes += written.bytes;
	totals->stored += written.stored;
	return EXIT_DONE;
}

/* The segment that an element of the manifest is about; it has been read before. */
static const struct verify_segment *segment_of(struct verify_trace *trace, struct json_object *object)
{
	char path[sizeof(((struct verify_segment *)0)->path) + 16];

	snprintf(path, sizeof(path), "%s", text_of(object, "path", ""));
	verify_strip(path);
	return verify_find(trace, path);
}

static int write_manifest(int to_fd, struct json_object *manifest)
{
	size_t size;
	const char *text = json_object_to_json_string_length(manifest,
							     JSON_C_TO_STRING_PRETTY |
								     JSON_C_TO_STRING_SPACED |
								     JSON_C_TO_STRING_NOSLASHESCAPE,
							     &size);
	_cleanup_close_ int fd = openat(to_fd, TEMPORARY, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
					MANIFEST_MODE);
	int r = fd < 0 ? -errno : !text ? -ENOMEM : write_all(fd, text, size);

	if (!r && renameat(to_fd, TEMPORARY, to_fd, MANIFEST) < 0)
		r = -errno;
	if (!r)
		return EXIT_DONE;
	complain(NULL, MANIFEST ": %s", strerror(-r));
	return EXIT_FAILED;
}

int anonymize_trace(struct iotr_anonymizer *anonymizer, struct verify_trace *trace, int to_fd,
		    struct anonymize_totals *totals)
{
	struct json_object *segments = member_of(trace->json, "segments");
	_cleanup_json_ struct json_object *manifest = NULL;
	int code = EXIT_DONE;

	for (size_t i = 0; code == EXIT_DONE && i < count_of(segments); i++) {
		struct json_object *object = json_object_array_get_idx(segments, i);
		const struct verify_segment *segment = segment_of(trace, object);

		if (segment && segment->state != VERIFY_REMOVED)
			code = one_segment(anonymizer, trace, segment, object, to_fd, totals);
	}
	if (code == EXIT_DONE)
		code = anonymize_snapshots(anonymizer, trace, to_fd, totals);
	if (code != EXIT_DONE)
		return code;
	if (iotr_anonymize_manifest(anonymizer, trace->json, &manifest) < 0) {
		complain(NULL, "%s", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	return write_manifest(to_fd, manifest);
}

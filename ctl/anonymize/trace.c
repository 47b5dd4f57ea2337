// SPDX-License-Identifier: GPL-2.0-or-later
#include "anonymize/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "anonymize/folder.h"
#include "anonymize/segment.h"
#include "anonymize/snapshots.h"
#include "anonymize_manifest.h"
#include "cleanup.h"
#include "json_add.h"
#include "output/complain.h"
#include "output/json.h"
#include "schema.h"
#include "verify/segment.h"
#include "write_all.h"

#define TEMPORARY     MANIFEST_NAME ".tmp"
#define MANIFEST_MODE 0640

/* The member of the manifest that describes the stream and contains the sums over its segments. */
static struct json_object *stream_of(struct verify_trace *trace, const struct verify_segment *segment)
{
	return member_of(member_of(trace->json, "streams"), segment->stream->flag);
}

/* Replaces the sizes. A stream's `bytes` counts rows without headers. */
static void update(struct json_object *object, struct json_object *stream,
		   const struct verify_segment *segment, const struct anonymize_written *written)
{
	uint64_t bytes = number_of(stream, "bytes");
	uint64_t before = segment->bytes - written->header, after = written->bytes - written->header;

	add_u64(stream, "bytes", bytes > before ? bytes - before + after : after);
	add_u64(object, "bytes", written->bytes);
	json_object_object_del(object, "sha256"); /* of the text, in a trace of version 1 */
	json_object_object_add(object, "xxh128", json_object_new_string(written->xxh128));
	json_object_object_del(object, "stored_sha256");
	if (*written->stored_sha256)
		json_object_object_add(object, "stored_sha256", json_object_new_string(written->stored_sha256));
	if (member_of(object, "stored_bytes"))
		add_u64(object, "stored_bytes", written->stored);
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
	_cleanup_close_ int from = verify_open_folder(trace->folder_fd, folder), to = anonymize_folder(to_fd, folder);
	const struct anonymize_known known = columns_of(segment);
	struct anonymize_written written;
	char file[SEGMENT_FILE_MAX];
	int code;

	if (from < 0 || to < 0)
		return EXIT_FAILED; /* verify has read it, so it was removed since */
	verify_segment_file(from, segment, file);
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

/* The segment that an element of the manifest describes; verify has read it before. */
static const struct verify_segment *segment_of(struct verify_trace *trace, struct json_object *object)
{
	char path[sizeof(((struct verify_segment *)0)->path) + 16];

	snprintf(path, sizeof(path), "%s", text_of(object, "path", ""));
	segment_name_strip(path);
	return verify_find(trace, path);
}

static int write_file(int to_fd, const struct iovec pieces[MANIFEST_PIECES])
{
	_cleanup_close_ int fd = openat(to_fd, TEMPORARY, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
					MANIFEST_MODE);
	int r = fd < 0 ? -errno : 0;

	for (size_t i = 0; !r && i < MANIFEST_PIECES; i++)
		r = write_all(fd, pieces[i].iov_base, pieces[i].iov_len);
	if (!r && renameat(to_fd, TEMPORARY, to_fd, MANIFEST_NAME) < 0)
		r = -errno;
	return r;
}

static int write_manifest(int to_fd, struct json_object *manifest, struct manifest_segments *segments)
{
	struct iovec pieces[MANIFEST_PIECES];
	_cleanup_free_ char *escaped = NULL;
	int r = manifest_pieces(manifest, segments, pieces, &escaped) ? write_file(to_fd, pieces) : -ENOMEM;

	if (!r)
		return EXIT_DONE;
	complain(NULL, MANIFEST_NAME ": %s", strerror(-r));
	return EXIT_FAILED;
}

/* Rewrites all segments one after the other. Their descriptions in the manifest contain no names. */
static int all_segments(struct iotr_anonymizer *anonymizer, struct verify_trace *trace, int to_fd,
			struct manifest_segments *segments, struct anonymize_totals *totals)
{
	struct json_object *object;
	int code = EXIT_DONE;

	manifest_reader_rewind(&trace->reader);
	while (code == EXIT_DONE && manifest_reader_next(&trace->reader, &object) > 0) {
		const struct verify_segment *segment = segment_of(trace, object);

		if (segment && segment->state != VERIFY_REMOVED)
			code = one_segment(anonymizer, trace, segment, object, to_fd, totals);
		manifest_segments_add_json(segments, object);
		json_object_put(object);
	}
	return code;
}

/* The version of the trace stays, as its rows do; but checksums of segments are of version 2 at least. */
static void take_version(struct json_object *manifest)
{
	uint64_t version = number_of(manifest, "schema_version");

	add_u64(manifest, "schema_version", version < MANIFEST_SCHEMA_XXH128 ? MANIFEST_SCHEMA_XXH128 : version);
}

/* Writes the rest: snapshots, and the manifest with the segments that have been written. */
static int finish(struct iotr_anonymizer *anonymizer, struct verify_trace *trace, int to_fd,
		  struct manifest_segments *segments, struct anonymize_totals *totals)
{
	_cleanup_json_ struct json_object *manifest = NULL;
	int code = anonymize_snapshots(anonymizer, trace, to_fd, totals);

	if (code != EXIT_DONE)
		return code;
	take_version(trace->json);
	if (iotr_anonymize_manifest(anonymizer, trace->json, &manifest) < 0) {
		complain(NULL, "%s", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	return write_manifest(to_fd, manifest, segments);
}

int anonymize_trace(struct iotr_anonymizer *anonymizer, struct verify_trace *trace, int to_fd,
		    struct anonymize_totals *totals)
{
	_cleanup_(manifest_segments_done) struct manifest_segments segments = { 0 };
	int code = all_segments(anonymizer, trace, to_fd, &segments, totals);

	return code == EXIT_DONE ? finish(anonymizer, trace, to_fd, &segments, totals) : code;
}

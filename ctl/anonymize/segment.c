// SPDX-License-Identifier: GPL-2.0-or-later
#include "anonymize/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "cleanup.h"
#include "output/complain.h"
#include "output/interrupt.h"
#include "trace_file.h"
#include "trace_read.h"

#define MODE	0640
#define OUT_SIZE (256 * 1024)

/* State while one segment is rewritten. */
struct work {
	struct anonymize_rows rows;
	struct trace_file source;
	const char *path; /* of the segment, for error messages */
	char *lines;	  /* TRACE_ROW_MAX bytes */
	size_t used;
	char *out;
	gzFile target; /* also used for uncompressed output */
	XXH3_state_t *xxh128;
	struct sha256_ctx sha256;
	struct anonymize_written *written;
};

static int work_fail(const struct work *work, const char *what)
{
	complain(NULL, "%s: %s", work->path, what);
	return EXIT_FAILED;
}

static int put(struct work *work, const char *text, size_t length)
{
	int error;

	if (gzwrite(work->target, text, (unsigned int)length) != (int)length) {
		gzerror(work->target, &error);
		return work_fail(work, error == Z_ERRNO ? strerror(errno) : "it cannot be compressed");
	}
	XXH3_128bits_update(work->xxh128, text, length);
	sha256_update(&work->sha256, length, (const uint8_t *)text);
	work->written->bytes += length;
	return EXIT_DONE;
}

static int put_row(struct work *work, const char *row, size_t length)
{
	ssize_t size = anonymize_row(&work->rows, row, length, work->out);

	if (size < 0) {
		complain(NULL, "%s: row %" PRIu64 " is not one of its stream", work->path,
			 work->written->rows + 1);
		return EXIT_FAILED;
	}
	work->out[size] = '\n';
	work->written->rows++;
	return put(work, work->out, (size_t)size + 1);
}

static int put_line(struct work *work, const char *line, size_t length)
{
	const struct trace_columns *columns = work->rows.columns;

	if (work->rows.format == IOTR_FORMAT_JSONL || work->written->bytes)
		return put_row(work, line, length);
	if (length + 1 != columns->header_size || memcmp(line, columns->header, length))
		return work_fail(work, "its header is not the manifest's columns");
	work->written->header = columns->header_size;
	return put(work, columns->header, columns->header_size);
}

/* Writes the complete lines of the buffer; the rest moves to its front. */
static int put_lines(struct work *work)
{
	char *at = work->lines, *end = work->lines + work->used, *feed;
	int code = EXIT_DONE;

	while (code == EXIT_DONE && (feed = memchr(at, '\n', (size_t)(end - at)))) {
		code = put_line(work, at, (size_t)(feed - at));
		at = feed + 1;
	}
	work->used = (size_t)(end - at);
	memmove(work->lines, at, work->used);
	return code;
}

static int put_all(struct work *work)
{
	int code = EXIT_DONE;

	while (code == EXIT_DONE) {
		size_t room = TRACE_ROW_MAX - work->used;
		ssize_t got;

		if (interrupt_came())
			return work_fail(work, "interrupted");
		if (!room)
			return work_fail(work, "a row has no end");
		got = trace_file_read(&work->source, work->lines + work->used,
				      room < OUT_SIZE ? room : OUT_SIZE);
		if (got < 0)
			return work_fail(work, strerror((int)-got));
		if (!got)
			return work->used ? work_fail(work, "it ends within a row") : EXIT_DONE;
		work->used += (size_t)got;
		code = put_lines(work);
	}
	return code;
}

static int allocate(struct work *work)
{
	work->lines = malloc(TRACE_ROW_MAX);
	work->out = malloc(ANONYMIZE_ROW_MAX);
	work->rows.scratch = malloc(TRACE_ROW_MAX);
	work->xxh128 = XXH3_createState();
	if (work->lines && work->out && work->rows.scratch && work->xxh128 && !XXH3_128bits_reset(work->xxh128))
		return EXIT_DONE;
	return work_fail(work, strerror(ENOMEM));
}

static void work_done(struct work *work)
{
	free(work->lines);
	free(work->out);
	free(work->rows.scratch);
	XXH3_freeState(work->xxh128);
	trace_file_close(&work->source);
}

static gzFile open_target(int folder_fd, const char *name, bool gzip)
{
	int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);
	gzFile target = fd < 0 ? NULL : gzdopen(fd, gzip ? "wb6" : "wbT");

	if (target)
		gzbuffer(target, OUT_SIZE);
	else if (fd >= 0)
		close(fd);
	return target;
}

/* Renames the output to its final name only when it is complete. */
static int write_target(struct work *work, int to_fd, const char *file)
{
	char part[NAME_MAX + sizeof(".part")];
	struct stat status;
	int code;

	snprintf(part, sizeof(part), "%s%s", file, segment_endings[SEGMENT_PART]);
	work->target = open_target(to_fd, part, work->source.gzip);
	if (!work->target)
		return work_fail(work, strerror(errno));
	code = put_all(work);
	if (gzclose(work->target) != Z_OK && code == EXIT_DONE)
		code = work_fail(work, strerror(errno));
	if (code == EXIT_DONE && (fstatat(to_fd, part, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
				  renameat(to_fd, part, to_fd, file) < 0))
		code = work_fail(work, strerror(errno));
	if (code == EXIT_DONE)
		work->written->stored = (uint64_t)status.st_size;
	else
		unlinkat(to_fd, part, 0);
	return code;
}

/* zlib does not tell what it writes, so the file is read again. */
static int hash_stored(struct work *work, int to_fd, const char *file)
{
	struct trace_read read = { 0 };
	int r = work->source.gzip ? trace_read_stored(to_fd, file, &read) : 0;

	if (r < 0)
		return work_fail(work, strerror(-r));
	strcpy(work->written->stored_sha256, read.stored_sha256);
	return EXIT_DONE;
}

int anonymize_segment(struct iotr_anonymizer *anonymizer, const struct verify_segment *segment,
		      const struct anonymize_known *known, const char *file, int from_fd, int to_fd,
		      struct anonymize_written *written)
{
	_cleanup_(work_done) struct work work = { .path = segment->path, .written = written,
						  .source.fd = -1 };
	int r, code;

	*written = (struct anonymize_written){ 0 };
	if (!anonymize_rows_init(&work.rows, anonymizer, segment, known))
		return EXIT_FAILED;
	sha256_init(&work.sha256);
	r = trace_file_open(from_fd, file, &work.source);
	if (r < 0)
		return work_fail(&work, strerror(-r));
	code = allocate(&work);
	if (code == EXIT_DONE)
		code = write_target(&work, to_fd, file);
	if (code == EXIT_DONE)
		code = hash_stored(&work, to_fd, file);
	if (code != EXIT_DONE)
		return code;
	xxh128_hex(work.xxh128, written->xxh128);
	sha256_hex(&work.sha256, written->sha256);
	return code;
}

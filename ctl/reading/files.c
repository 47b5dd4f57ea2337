// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/files.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "schema.h"

DEFINE_CLEANUP(DIR *, closedir);

enum { PATH_BYTES = 2 * SEGMENT_FILE_MAX };

static const char *path_of(const struct reading_file *file, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "%s/%s", file->stream->folder, file->name.name);
	return path;
}

static int add(struct reading_files *files, const struct reading_file *file)
{
	/* Room is doubled whenever the count is a power of two. */
	if (!(files->count & (files->count - 1))) {
		size_t room = files->count ? 2 * files->count : 1;
		void *more = reallocarray(files->files, room, sizeof(*files->files));

		if (!more)
			return -ENOMEM;
		files->files = more;
	}
	files->files[files->count++] = *file;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct reading_file *left = a, *right = b;

	if (left->stream != right->stream)
		return left->stream < right->stream ? -1 : 1;
	if (left->name.number != right->name.number)
		return left->name.number < right->name.number ? -1 : 1;
	return strcmp(left->name.name, right->name.name);
}

/* A file may be there twice for a moment, compressed and not: once is enough. */
static void sort(struct reading_files *files)
{
	size_t kept = 0;

	if (!files->count)
		return;
	qsort(files->files, files->count, sizeof(*files->files), compare);
	for (size_t i = 1; i < files->count; i++)
		if (compare(&files->files[kept], &files->files[i]))
			files->files[++kept] = files->files[i];
	files->count = kept + 1;
}

/* Whether the file is to be read. What an ended session's manifest does not have is not, as nothing says what it may be. */
static bool is_listed(const struct verify_trace *trace, struct reading_file *file, struct verify_report *report)
{
	bool removed;
	char path[PATH_BYTES];

	file->segment = verify_find(trace, path_of(file, path));
	removed = file->segment && file->segment->state == VERIFY_REMOVED;
	if (!trace->running && !file->segment)
		verify_say(report, VERIFY_WRONG, path, "it is not in the manifest, and was not read");
	if (!trace->running && removed)
		verify_say(report, VERIFY_WRONG, path, "the manifest says that it was removed; it was not read");
	return file->segment ? !removed : trace->running;
}

static int list_stream(const struct verify_trace *trace, struct verify_stream *stream, enum iotr_stream number,
		       struct verify_report *report, struct reading_files *files)
{
	int fd = verify_open_folder(trace->folder_fd, stream->folder), r = 0;
	_cleanup_(closedirp) DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct reading_file file = { .stream = stream, .number = number };
	const struct dirent *entry;

	if (!folder && errno != ENOENT)
		verify_say(report, VERIFY_WRONG, stream->folder, "%s", strerror(errno));
	while (folder && r >= 0 && (entry = readdir(folder)))
		if (segment_name_parse(stream->folder, entry->d_name, &file.name) &&
		    file.name.ending != SEGMENT_PACKED_PART && is_listed(trace, &file, report))
			r = add(files, &file);
	return r;
}

static int compare_segments(const void *a, const void *b)
{
	const struct verify_segment *left = ((const struct reading_file *)a)->segment;
	const struct verify_segment *right = ((const struct reading_file *)b)->segment;

	return left == right ? 0 : left < right ? -1 : 1;
}

/* Says which segments have no file. Segments may be very many, so both lists are gone through side by side. */
static int tell_missing(const struct verify_trace *trace, uint32_t streams, struct verify_report *report,
			const struct reading_files *files)
{
	_cleanup_free_ struct reading_file *there = calloc(files->count + 1, sizeof(*there));
	size_t at = 0;

	if (!there)
		return -ENOMEM;
	if (files->count)
		memcpy(there, files->files, files->count * sizeof(*there));
	qsort(there, files->count, sizeof(*there), compare_segments);
	for (size_t i = 0; i < trace->segment_count; i++) {
		const struct verify_segment *segment = &trace->segments[i];
		int number = iotr_stream_find(segment->stream->flag);

		while (at < files->count && there[at].segment < segment)
			at++;
		if (segment->state != VERIFY_REMOVED && number >= 0 && streams >> number & 1 &&
		    (at == files->count || there[at].segment != segment))
			verify_say(report, VERIFY_WRONG, segment->path, "it is missing");
	}
	return 0;
}

int reading_files_list(struct verify_trace *trace, uint32_t streams, struct verify_report *report,
		       struct reading_files *files)
{
	int r = 0;

	*files = (struct reading_files){ 0 };
	for (size_t i = 0; i < trace->stream_count && r >= 0; i++) {
		int number = iotr_stream_find(trace->streams[i].flag);

		if (number < 0)
			verify_say(report, VERIFY_CAVEAT, trace->streams[i].folder,
				   "this iotracectl knows no stream '%s', and does not read it", trace->streams[i].flag);
		else if (streams >> number & 1)
			r = list_stream(trace, &trace->streams[i], (enum iotr_stream)number, report, files);
	}
	sort(files);
	/* While a session runs, what was there a moment ago may have been removed to keep within limits. */
	if (r >= 0 && !trace->running)
		r = tell_missing(trace, streams, report, files);
	if (r < 0)
		reading_files_done(files);
	return r;
}

void reading_files_done(struct reading_files *files)
{
	free(files->files);
	*files = (struct reading_files){ 0 };
}

/* It may be renamed while this looks: what is being written is closed then, and what was closed is compressed. */
static int open_any(int folder_fd, const struct reading_file *file, struct trace_rows *rows)
{
	static const enum segment_ending endings[] = { SEGMENT_PART, SEGMENT_PLAIN, SEGMENT_PACKED };
	int r = -ENOENT;

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]) && r == -ENOENT; i++) {
		char name[SEGMENT_FILE_MAX];

		trace_rows_close(rows);
		snprintf(name, sizeof(name), "%s%s", file->name.name, segment_endings[endings[i]]);
		r = trace_rows_open(rows, folder_fd, name, file->name.format, file->stream->names,
				    file->stream->columns.count);
	}
	return r;
}

/* Whether what the manifest says of the file is all that it has. */
static bool is_finished(const struct verify_trace *trace, const struct reading_file *file)
{
	return file->segment && (!trace->running || file->segment->state != VERIFY_OPEN);
}

int reading_open(const struct verify_trace *trace, const struct reading_file *file, struct verify_report *report,
		 struct trace_rows *rows)
{
	_cleanup_close_ int folder_fd = verify_open_folder(trace->folder_fd, file->stream->folder);
	char path[PATH_BYTES];
	int r;

	*rows = (struct trace_rows){ 0 };
	r = folder_fd < 0 ? -errno : open_any(folder_fd, file, rows);
	if (r == -EPROTO)
		verify_say(report, VERIFY_WRONG, path_of(file, path), "its header is not the manifest's columns");
	else if (r == -ENOMSG && !trace->running)
		verify_say(report, VERIFY_WRONG, path_of(file, path), "it has no header");
	else if (r < 0 && r != -ENOMSG)
		verify_say(report, VERIFY_WRONG, path_of(file, path), "%s", verify_file_error(r));
	if (r >= 0 && is_finished(trace, file)) {
		rows->rows_max = file->segment->rows;
		rows->bytes_max = file->segment->bytes;
	}
	return r;
}

/* Says where the file is not what the manifest says. */
static void tell_difference(const struct reading_file *file, struct verify_report *report, const struct trace_rows *rows)
{
	uint64_t found = rows->rows + rows->bad_rows;
	char path[PATH_BYTES];

	if (rows->more)
		verify_say(report, VERIFY_WRONG, path_of(file, path),
			   "it has more than the manifest's %" PRIu64 " rows and %" PRIu64 " bytes; the rest was not read",
			   file->segment->rows, file->segment->bytes);
	else if (found < file->segment->rows)
		verify_say(report, VERIFY_WRONG, path_of(file, path), "it has %" PRIu64 " rows, the manifest says %" PRIu64,
			   found, file->segment->rows);
}

void reading_close(const struct verify_trace *trace, const struct reading_file *file, struct verify_report *report,
		   struct trace_rows *rows, int r)
{
	char path[PATH_BYTES];

	if (r == -EMSGSIZE)
		verify_say(report, VERIFY_WRONG, path_of(file, path), "row %" PRIu64 " is longer than 1 MiB",
			   rows->rows + rows->bad_rows + 1);
	else if (r < 0)
		verify_say(report, VERIFY_WRONG, path_of(file, path), "%s", verify_file_error(r));
	if (rows->bad_rows)
		verify_say(report, VERIFY_WRONG, path_of(file, path), "%" PRIu64 " lines of it are no rows", rows->bad_rows);
	if (!r && is_finished(trace, file))
		tell_difference(file, report, rows);
	if (rows->cut && !trace->running)
		verify_say(report, VERIFY_WRONG, path_of(file, path), "it ends within a row");
	trace_rows_close(rows);
}

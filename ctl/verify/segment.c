// SPDX-License-Identifier: GPL-2.0-or-later
/* Compares the file of one segment with its description in the manifest. */
#include "verify/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "segment_mark.h"
#include "trace_read.h"

DEFINE_CLEANUP(DIR *, closedir);

static bool is_there(int folder_fd, const char *name, enum segment_ending ending, char file[SEGMENT_FILE_MAX])
{
	struct stat status;

	snprintf(file, SEGMENT_FILE_MAX, "%s%s", name, segment_endings[ending]);
	return !fstatat(folder_fd, file, &status, AT_SYMLINK_NOFOLLOW);
}

/* Writes the file's name. Returns its ending; SEGMENT_ENDINGS: there is no such file. */
static enum segment_ending find_file(int folder_fd, const struct verify_segment *segment, char file[SEGMENT_FILE_MAX])
{
	static const enum segment_ending likeliest_first[] = { SEGMENT_PLAIN, SEGMENT_PACKED, SEGMENT_PART };

	for (size_t i = 0; i < sizeof(likeliest_first) / sizeof(likeliest_first[0]); i++)
		if (is_there(folder_fd, segment->name, likeliest_first[i], file))
			return likeliest_first[i];
	return SEGMENT_ENDINGS;
}

bool verify_segment_file(int folder_fd, const struct verify_segment *segment, char file[SEGMENT_FILE_MAX])
{
	return find_file(folder_fd, segment, file) != SEGMENT_ENDINGS;
}

static bool on_progress(uint64_t bytes, void *report)
{
	verify_progress(report, bytes);
	return true;
}

static void check_rows(const struct verify_segment *segment, const struct trace_scan *scan,
		       struct verify_report *report)
{
	if (!scan->header_good)
		verify_say(report, VERIFY_WRONG, segment->path,
			   "its header is not the manifest's columns");
	if (scan->bad_rows)
		verify_say(report, VERIFY_WRONG, segment->path,
			   "row %" PRIu64 ": %s; %" PRIu64 " such rows", scan->first_bad,
			   scan->bad_because, scan->bad_rows);
	if (scan->outside_rows)
		verify_say(report, VERIFY_WRONG, segment->path,
			   "row %" PRIu64 ": its mono_ns is not within the segment's times; %" PRIu64
			   " such rows",
			   scan->first_outside, scan->outside_rows);
}

static void check_checksums(const struct verify_segment *segment, const struct trace_read *read,
			    struct verify_report *report)
{
	if (!*segment->xxh128 && !*segment->sha256)
		verify_say(report, VERIFY_WRONG, segment->path, "the manifest has no checksum of it");
	if (*segment->xxh128 && strcmp(read->xxh128, segment->xxh128))
		verify_say(report, VERIFY_WRONG, segment->path, "its XXH128 is not the manifest's");
	if (*segment->sha256 && strcmp(read->sha256, segment->sha256))
		verify_say(report, VERIFY_WRONG, segment->path, "its SHA-256 is not the manifest's");
	if (*read->stored_sha256 && strcmp(read->stored_sha256, segment->stored_sha256))
		verify_say(report, VERIFY_WRONG, segment->path, "its SHA-256 as it is stored is not the manifest's");
}

/* Checks a finished segment. If the scan stopped before the end, the sums say nothing. */
static void check_sums(const struct verify_segment *segment, const struct trace_scan *scan,
		       const struct trace_read *read, struct verify_report *report)
{
	if (read->bytes > segment->bytes) {
		verify_say(report, VERIFY_WRONG, segment->path,
			   "it has more than the manifest's %" PRIu64 " bytes", segment->bytes);
		return;
	}
	if (scan->stopped)
		return;
	if (trace_scan_rest(scan))
		verify_say(report, VERIFY_WRONG, segment->path, "it ends within a row");
	if (read->bytes != segment->bytes)
		verify_say(report, VERIFY_WRONG, segment->path,
			   "it has %" PRIu64 " bytes, the manifest says %" PRIu64, read->bytes,
			   segment->bytes);
	if (scan->rows != segment->rows)
		verify_say(report, VERIFY_WRONG, segment->path,
			   "it has %" PRIu64 " rows, the manifest says %" PRIu64, scan->rows,
			   segment->rows);
	check_checksums(segment, read, report);
}

/* Checks a segment that is being written: it has at least the rows that the manifest knows. */
static void check_open(const struct verify_segment *segment, const struct trace_scan *scan,
		       struct verify_report *report)
{
	if (scan->rows < segment->rows)
		verify_say(report, VERIFY_WRONG, segment->path,
			   "it has %" PRIu64 " rows, the manifest says %" PRIu64, scan->rows,
			   segment->rows);
	verify_say(report, VERIFY_NOTE, segment->path,
		   "it is being written: its first %" PRIu64 " rows are whole",
		   scan->rows - scan->bad_rows);
}

static void read_segment(struct verify_trace *trace, const struct verify_segment *segment, int folder_fd,
			 const char *file, struct verify_report *report)
{
	bool open = segment->state == VERIFY_OPEN;
	struct trace_read read = {
		.limit = open ? 0 : segment->bytes,
		.progress = on_progress,
		.userdata = report,
		.wants_sha256 = *segment->sha256 != '\0',
		.wants_stored_sha256 = *segment->stored_sha256 != '\0',
	};
	struct trace_scan scan;
	int r = trace_scan_init(&scan, segment->format, &segment->stream->columns);

	if (r >= 0 && segment->has_times && !open) {
		scan.from_ns = segment->first_ns;
		scan.to_ns = segment->last_ns;
	}
	if (r >= 0)
		r = trace_read(folder_fd, file, &scan, &read);
	trace->rows_read += scan.rows;
	trace->bytes_read += read.bytes;
	trace->stored_read += read.stored;
	if (r < 0) {
		verify_say(report, VERIFY_WRONG, segment->path, "%s", verify_file_error(r));
	} else {
		check_rows(segment, &scan, report);
		if (open)
			check_open(segment, &scan, report);
		else
			check_sums(segment, &scan, &read, report);
	}
	trace_scan_done(&scan);
}

static void check_removed(const struct verify_segment *segment, enum segment_ending ending,
			  struct verify_report *report)
{
	if (ending == SEGMENT_ENDINGS)
		verify_say(report, VERIFY_CAVEAT, segment->path, "it was removed to keep within limits");
	else
		verify_say(report, VERIFY_WRONG, segment->path,
			   "it exists, but the manifest says that it was removed");
}

/* Finds the mark of a segment that was removed when the manifest had been written. */
static bool is_marked(int folder_fd, const struct verify_segment *segment, struct segment_mark *mark)
{
	int fd = folder_fd < 0 ? -1 : openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closedirp) DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (segment_mark_parse(segment->stream->folder, entry->d_name, mark) &&
		    !strcmp(mark->segment.name, segment->name))
			return true;
	return false;
}

static void check_found(struct verify_trace *trace, const struct verify_segment *segment, int folder_fd,
			enum segment_ending ending, const char *file, struct verify_report *report)
{
	char packed[SEGMENT_FILE_MAX];
	struct segment_mark mark;

	if (ending == SEGMENT_ENDINGS && is_marked(folder_fd, segment, &mark)) {
		verify_say(report, VERIFY_CAVEAT, segment->path, "it was removed, to keep within %s, after the manifest was written",
			   iotr_removal_texts[mark.limit]);
		return;
	}
	if (ending == SEGMENT_ENDINGS) {
		verify_say(report, VERIFY_WRONG, segment->path, "it is missing");
		return;
	}
	if (ending == SEGMENT_PLAIN && is_there(folder_fd, segment->name, SEGMENT_PACKED, packed))
		verify_say(report, VERIFY_NOTE, segment->path,
			   "there is one with .gz beside it, which was not read");
	if (ending == SEGMENT_PART && segment->state != VERIFY_OPEN)
		verify_say(report, VERIFY_WRONG, segment->path,
			   "the manifest says that it was closed, but it is still called .part");
	if (!trace->running && segment->state == VERIFY_OPEN)
		verify_say(report, VERIFY_WRONG, segment->path,
			   "it was not closed, although the session has ended");
	report->file = segment->path;
	read_segment(trace, segment, folder_fd, file, report);
}

void verify_segment(struct verify_trace *trace, const struct verify_segment *segment, struct verify_report *report)
{
	char file[SEGMENT_FILE_MAX] = "";
	_cleanup_close_ int folder_fd = verify_open_folder(trace->folder_fd, segment->stream->folder);
	enum segment_ending ending = folder_fd < 0 ? SEGMENT_ENDINGS : find_file(folder_fd, segment, file);

	if (folder_fd < 0 && errno != ENOENT)
		verify_say(report, VERIFY_WRONG, segment->stream->folder, "%s",
			   errno == ELOOP || errno == ENOTDIR ? "it is not a folder" : strerror(errno));
	if (segment->state == VERIFY_REMOVED)
		check_removed(segment, ending, report);
	else
		check_found(trace, segment, folder_fd, ending, file, report);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* filesystem_snapshot/filesystem_snap_NNNNNN.csv.gz: a row for each file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kinds.h"
#include "schema.h"
#include "walk.h"

#define HEADER	  IOTR_HEADER(IOTR_FILES_COLUMNS)
#define FIXED_MAX 400 /* bytes of a row without its path */

struct filesystem {
	struct store *store;
	struct walk *walk;
	struct text_clock creation, modification, access;
	char timestamp[TEXT_TIME_SIZE + DIGITS_SLACK];
};

static const char *type_name(unsigned int mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symlink";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	case S_IFBLK:
		return "block";
	case S_IFCHR:
		return "character";
	default:
		return "";
	}
}

static char *write_time(struct text_clock *clock, char *out, const struct statx_timestamp *time)
{
	return text_time(clock, out, time->tv_sec, time->tv_nsec);
}

/* Writes a row. A file system that knows no creation time for a file may give 1970-01-01, which is left out. */
static char *write_row(struct filesystem *of, char *out, const char *path, size_t length,
		       const struct statx *stat)
{
	out = mempcpy(out, of->timestamp, TEXT_TIME_SIZE);
	*out++ = ',';
	out = text_cell(out, path, length);
	*out++ = ',';
	out = stpcpy(out, type_name(stat->stx_mode));
	*out++ = ',';
	out = digits_u64(out, stat->stx_size);
	*out++ = ',';
	if (stat->stx_mask & STATX_BTIME && (stat->stx_btime.tv_sec || stat->stx_btime.tv_nsec))
		out = write_time(&of->creation, out, &stat->stx_btime);
	*out++ = ',';
	out = write_time(&of->modification, out, &stat->stx_mtime);
	*out++ = ',';
	out = write_time(&of->access, out, &stat->stx_atime);
	*out++ = ',';
	out = digits_u64(out, stat->stx_ino);
	*out++ = ',';
	out = text_device(out, stat->stx_dev_major, stat->stx_dev_minor);
	*out++ = ',';
	out = digits_u64(out, stat->stx_nlink);
	*out++ = '\n';
	return out;
}

/* Of a path that is longer than the buffer allows, the end is written. */
static int on_entry(const struct walk_entry *entry, void *userdata)
{
	const size_t longest = (STORE_BUFFER_SIZE - FIXED_MAX) / 8;
	struct job *job = userdata;
	struct filesystem *of = job->state;
	struct store *store = of->store;
	size_t length = entry->length;
	const char *path = job_name(job, JOB_NAME_PATH, entry->path, &length);
	char *out;

	if (length > longest) {
		path += length - longest;
		length = longest;
	}
	out = store_reserve(store, TEXT_CELL_MAX(length) + FIXED_MAX);
	store_commit(store, (size_t)(write_row(of, out, path, length, entry->stat) - out));
	store->rows++;
	atomic_store_explicit(&job->rows, store->rows, memory_order_relaxed);
	return store->error;
}

static int begin(struct job *job)
{
	struct filesystem *of = calloc(1, sizeof(*of));
	const struct walk_config config = {
		.root = job->request->root,
		.depth = job->request->depth,
		.guard = &job->guard,
		.handler = on_entry,
		.userdata = job,
	};
	int r;

	job->state = of;
	if (!of)
		return -ENOMEM;
	job_timestamp(job, of->timestamp);
	r = job_create(job, 0, &of->store);
	if (r < 0)
		return r;
	store_text(of->store, HEADER, strlen(HEADER));
	return walk_new(&config, &of->walk);
}

static int explain(struct job *job, int r)
{
	const struct filesystem *of = job->state;
	const char *root = job->request->root;

	if (of->store->error)
		return job_fail(job, r, "%s cannot be written: %s", of->store->path, strerror(-r));
	if (r == -EINVAL)
		return job_fail(job, r, "%.300s is on a pseudo file system, which has no files to tell of",
				root);
	if (r == -ENOTDIR)
		return job_fail(job, r, "%.300s is not a folder", root);
	return job_fail(job, r, "%.300s: %s", root, strerror(-r));
}

static int run(struct job *job)
{
	struct filesystem *of = job->state;
	int r = walk_run(of->walk);

	atomic_store(&job->skipped, walk_skipped(of->walk));
	return r < 0 ? explain(job, r) : job_finish(job, of->store);
}

static const char *pass(struct job *job)
{
	const struct filesystem *of = job->state;

	return walk_pass(of->walk);
}

static void done(struct job *job)
{
	struct filesystem *of = job->state;

	if (!of)
		return;
	walk_free(of->walk);
	store_free(of->store);
	free(of);
}

const struct job_kind job_filesystem = { begin, run, pass, done };

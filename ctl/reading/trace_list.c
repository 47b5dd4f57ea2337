// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/trace_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "manifest_text.h"
#include "output/json.h"
#include "reading/time_text.h"
#include "trace_file.h"
#include "verify/trace.h"

DEFINE_CLEANUP(DIR *, closedir);

enum { LEVELS = 4 }; /* of folders in a trace, at most; there are two */

/* Calls for each entry but "." and "..", until it returns an error. */
static int each_entry(int folder_fd, int (*take)(int folder_fd, const char *name, void *userdata), void *userdata)
{
	int copy = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	_cleanup_(closedirp) DIR *folder = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	if (!folder)
		return -errno;
	while (r >= 0 && (entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			r = take(folder_fd, entry->d_name, userdata);
	return r;
}

/* ---- one trace ---- */

struct measure {
	uint64_t bytes;
	unsigned int level;
};

static int measure(int folder_fd, const char *name, void *userdata)
{
	struct measure *sum = userdata;
	_cleanup_close_ int fd = -1;
	struct stat status;

	if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	sum->bytes += (uint64_t)status.st_blocks * 512;
	if (!S_ISDIR(status.st_mode) || sum->level == LEVELS)
		return 0;
	fd = verify_open_folder(folder_fd, name);
	sum->level++;
	if (fd >= 0)
		each_entry(fd, measure, sum);
	sum->level--;
	return 0;
}

/* NULL: it cannot be read. */
static struct json_object *read_manifest(int fd)
{
	struct manifest_reader reader = { 0 };
	struct json_object *manifest = NULL;
	struct trace_file file;

	if (trace_file_open(fd, MANIFEST_NAME, &file) >= 0 && file.size <= MANIFEST_MAX &&
	    manifest_reader_init(&reader, take_fd(&file.fd), &manifest) < 0)
		manifest = NULL;
	manifest_reader_done(&reader);
	trace_file_close(&file);
	return manifest;
}

static uint64_t time_of(struct json_object *manifest, const char *key)
{
	const char *text = string_of(manifest, key) ?: "";
	uint64_t ns = 0;

	return time_text_ns((struct trace_text){ text, strlen(text) }, &ns) ? ns : 0;
}

static bool runs(struct json_object *manifest)
{
	return strcmp(string_of(manifest, "state") ?: "", "ended") != 0;
}

static void read_trace(int fd, struct listed_trace *trace)
{
	struct measure sum = { 0 };

	each_entry(fd, measure, &sum);
	trace->bytes = sum.bytes;
	trace->manifest = read_manifest(fd);
	trace->running = runs(trace->manifest);
	trace->started_ns = time_of(trace->manifest, "started");
	trace->ended_ns = time_of(trace->manifest, "ended");
}

const char *listed_trace_kind(const struct listed_trace *trace)
{
	struct json_object *streams = member_of(trace->manifest, "streams");

	if (!trace->manifest)
		return "?";
	if (member_of(member_of(trace->manifest, "definition"), "dump"))
		return "dump";
	if (streams && !json_object_object_length(streams))
		return "snapshots";
	return "session";
}

/* ---- all of them ---- */

struct walk {
	struct trace_list *list;
	const char *name; /* of the folder in the log folder */
};

static int add(struct trace_list *list, struct listed_trace *trace)
{
	void *more = reallocarray(list->traces, list->count + 1, sizeof(*list->traces));

	if (!more)
		return -ENOMEM;
	list->traces = more;
	list->traces[list->count++] = *trace;
	return 0;
}

static int take_start(int folder_fd, const char *name, void *userdata)
{
	struct walk *walk = userdata;
	_cleanup_close_ int fd = verify_open_folder(folder_fd, name);
	struct listed_trace trace = { 0 };

	if (fd < 0 || faccessat(fd, MANIFEST_NAME, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (asprintf(&trace.path, "%s/%s", walk->name, name) < 0)
		return -ENOMEM;
	read_trace(fd, &trace);
	return add(walk->list, &trace);
}

static int take_name(int folder_fd, const char *name, void *userdata)
{
	struct walk *walk = userdata;
	_cleanup_close_ int fd = verify_open_folder(folder_fd, name);

	walk->name = name;
	if (fd >= 0)
		each_entry(fd, take_start, walk);
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct listed_trace *left = a, *right = b;

	if (left->started_ns != right->started_ns)
		return left->started_ns < right->started_ns ? -1 : 1;
	return strcmp(left->path, right->path);
}

int trace_list_read(int log_fd, struct trace_list *list)
{
	struct walk walk = { .list = list };
	int r;

	*list = (struct trace_list){ 0 };
	r = each_entry(log_fd, take_name, &walk);
	if (list->count)
		qsort(list->traces, list->count, sizeof(*list->traces), compare);
	return r;
}

void trace_list_done(struct trace_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->traces[i].path);
		json_object_put(list->traces[i].manifest);
	}
	free(list->traces);
	*list = (struct trace_list){ 0 };
}

/* ---- removal ---- */

static int remove_entry(int folder_fd, const char *name, void *userdata)
{
	unsigned int *level = userdata;
	_cleanup_close_ int fd = -1;
	int r;

	if (!*level && !strcmp(name, MANIFEST_NAME))
		return 0;
	if (!unlinkat(folder_fd, name, 0) || errno == ENOENT)
		return 0;
	if ((errno != EISDIR && errno != EPERM) || *level == LEVELS)
		return -errno;
	fd = verify_open_folder(folder_fd, name);
	if (fd < 0)
		return -errno;
	++*level;
	r = each_entry(fd, remove_entry, level);
	--*level;
	if (r < 0)
		return r;
	return unlinkat(folder_fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* All of the folder's content, after another look at whether it runs: it may have gone on since it was listed. */
static int empty_folder(int fd)
{
	_cleanup_json_ struct json_object *manifest = read_manifest(fd);
	unsigned int level = 0;
	int r;

	if (runs(manifest))
		return -EBUSY;
	r = each_entry(fd, remove_entry, &level);
	if (r < 0)
		return r;
	return unlinkat(fd, MANIFEST_NAME, 0) < 0 ? -errno : 0;
}

int trace_list_remove(int log_fd, const struct listed_trace *trace)
{
	const char *slash = strchr(trace->path, '/');
	_cleanup_free_ char *name = strndup(trace->path, (size_t)(slash - trace->path));
	_cleanup_close_ int above = name ? verify_open_folder(log_fd, name) : -1;
	_cleanup_close_ int fd = above < 0 ? -1 : verify_open_folder(above, slash + 1);
	int r;

	if (fd < 0)
		return -errno;
	r = empty_folder(fd);
	if (r < 0)
		return r;
	if (unlinkat(above, slash + 1, AT_REMOVEDIR) < 0)
		return -errno;
	unlinkat(log_fd, name, AT_REMOVEDIR); /* it stays while it has others */
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "verify/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "segment_mark.h"
#include "verify/snapshots.h"

DEFINE_CLEANUP(DIR *, closedir);

static DIR *open_folder(int parent_fd, const char *name)
{
	int fd = verify_open_folder(parent_fd, name);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	if (!folder && fd >= 0)
		close(fd);
	return folder;
}

static bool is_stream(const struct verify_trace *trace, const char *folder)
{
	for (size_t i = 0; i < trace->stream_count; i++)
		if (!strcmp(trace->streams[i].folder, folder))
			return true;
	return false;
}

static const char *next(DIR *folder)
{
	const struct dirent *entry;

	while ((entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			return entry->d_name;
	return NULL;
}

static void look_at_stream(const struct verify_trace *trace, const char *name,
			   struct verify_report *report)
{
	_cleanup_(closedirp) DIR *folder = open_folder(trace->folder_fd, name);
	const char *file;

	while (folder && (file = next(folder))) {
		char path[2 * NAME_MAX + 2], known[sizeof(path)];
		struct segment_mark mark;

		snprintf(path, sizeof(path), "%s/%s", name, file);
		strcpy(known, path);
		segment_name_strip(known);
		if (!verify_find(trace, known) && !segment_mark_parse(name, file, &mark))
			verify_say(report, VERIFY_NOTE, path, "it is not in the manifest");
	}
}

static bool is_part(const char *file)
{
	const char *ending = strrchr(file, '.');

	return ending && !strcmp(ending, segment_endings[SEGMENT_PART]);
}

static void look_at_snapshots(const struct verify_trace *trace, const char *name,
			      struct verify_report *report)
{
	_cleanup_(closedirp) DIR *folder = open_folder(trace->folder_fd, name);
	size_t count;
	_cleanup_free_ const char **known = verify_snapshots_paths(trace, &count);
	const char *file;

	while (folder && (file = next(folder))) {
		char path[2 * NAME_MAX + 2];

		snprintf(path, sizeof(path), "%s/%s", name, file);
		if (trace->running && is_part(file))
			continue; /* it is being written */
		if (!verify_knows_snapshot(known, count, path))
			verify_say(report, VERIFY_NOTE, path, "it is not in the manifest");
	}
}

/*
 * Whether the folder is a trace of its own: a session with an output folder continues in a new folder inside
 * it after a restart of the daemon.
 */
static bool is_trace(const struct verify_trace *trace, const char *name)
{
	char path[NAME_MAX + sizeof("/" MANIFEST_NAME)];
	struct stat status;

	snprintf(path, sizeof(path), "%s/" MANIFEST_NAME, name);
	return !fstatat(trace->folder_fd, path, &status, AT_SYMLINK_NOFOLLOW);
}

void verify_folder(const struct verify_trace *trace, struct verify_report *report)
{
	_cleanup_(closedirp) DIR *folder = open_folder(trace->folder_fd, ".");
	const char *name;

	while (folder && (name = next(folder))) {
		if (!strcmp(name, MANIFEST_NAME))
			continue;
		if (is_stream(trace, name))
			look_at_stream(trace, name, report);
		else if (verify_is_snapshot_folder(name))
			look_at_snapshots(trace, name, report);
		else if (is_trace(trace, name))
			verify_say(report, VERIFY_NOTE, name, "it is a trace of its own");
		else
			verify_say(report, VERIFY_NOTE, name, "it is not in the manifest");
	}
}

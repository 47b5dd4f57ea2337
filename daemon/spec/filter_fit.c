// SPDX-License-Identifier: GPL-2.0-or-later
#include "filter_fit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "mount_list.h"
#include "schema.h"
#include "stream_arguments.h"

/* The fact that a row must have for each filter (0: all have it), and what messages call it. */
static const struct {
	unsigned int fact;
	const char *name;
	bool of_all; /* a session with the filter cannot have streams without the fact */
} needs[IOTR_SPEC_FILTER_COUNT] = {
#define IOTR_FACT_NONE 0
#define NEED(id, name, kind, type, count, fact, word, of_all, ...) [IOTR_SPEC_##id] = { IOTR_FACT_##fact, word, of_all },
	IOTR_FILTERS(NEED)
};

static uint32_t streams_without(const struct iotr_session_spec *spec, unsigned int fact)
{
	uint32_t without = 0;

	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (spec->streams >> stream & 1 && (iotr_schemas[stream].facts & fact) != fact)
			without |= 1U << stream;
	return without;
}

int filter_fit(const struct iotr_session_spec *spec, struct engine_error *error)
{
	char names[STREAM_NAMES_MAX];

	for (enum iotr_spec_filter i = 0; i < IOTR_SPEC_FILTER_COUNT; i++) {
		uint32_t without = streams_without(spec, needs[i].fact);

		if (!iotr_spec_filter_given(spec, i) || !without ||
		    (without != spec->streams && !needs[i].of_all))
			continue;
		snprintf(error->parameter, sizeof(error->parameter), "%s", iotr_spec_filter_name(i));
		return argument_refuse(error, "rows of %s have no %s, so this would let none of them through%s",
				       stream_names(without, names), needs[i].name,
				       without == spec->streams ? "" :
								  ": record them in a session of their own");
	}
	return 0;
}

int filter_fit_sample(const struct iotr_session_spec *spec, struct engine_error *error)
{
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		if (!spec->sample[stream] || spec->streams >> stream & 1)
			continue;
		strcpy(error->parameter, "sample");
		return argument_refuse(error, "the session has no stream '%s'", iotr_schemas[stream].flag);
	}
	return 0;
}

static void __attribute__((format(printf, 2, 3)))
warn(struct json_object *warnings, const char *format, ...)
{
	char sentence[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	json_object_array_add(warnings, json_object_new_string(sentence));
}

static void warn_of_streams(const struct iotr_session_spec *spec, struct json_object *warnings)
{
	char names[STREAM_NAMES_MAX];

	for (enum iotr_spec_filter i = 0; i < IOTR_SPEC_FILTER_COUNT; i++) {
		uint32_t without = streams_without(spec, needs[i].fact);

		if (iotr_spec_filter_given(spec, i) && without)
			warn(warnings, "rows of %s have no %s: the filter '%s' lets none of them through",
			     stream_names(without, names), needs[i].name, iotr_spec_filter_name(i));
	}
}

static void warn_of_operations(const struct iotr_session_spec *spec, struct json_object *warnings)
{
	uint32_t without = 0;
	char names[STREAM_NAMES_MAX];

	if (!iotr_spec_filter_given(spec, IOTR_SPEC_OPERATIONS))
		return;
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (spec->streams >> stream & 1 && !iotr_operations_any(&spec->operations[stream]))
			without |= 1U << stream;
	if (without)
		warn(warnings, "none of the operations belongs to %s, of which no row will be recorded",
		     stream_names(without, names));
}

/* ---- processes ---- */

/* Rows contain process numbers of the initial PID namespace: returns whether /proc shows that one. */
static bool sees_all_processes(void)
{
	char namespace[64] = "";

	return readlink("/proc/self/ns/pid", namespace, sizeof(namespace) - 1) > 0 &&
	       !strcmp(namespace, "pid:[4026531836]"); /* PROC_PID_INIT_INO of the kernel */
}

/* Returns the process of a thread, or 0 if there is none of that number. */
static unsigned int process_of(unsigned int pid)
{
	_cleanup_fclose_ FILE *status = NULL;
	unsigned int process = pid; /* kept if the file has no such line */
	char line[256];

	snprintf(line, sizeof(line), "/proc/%u/status", pid);
	status = fopen(line, "re");
	if (!status)
		return 0;
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "Tgid: %u", &process) == 1)
			break;
	return process;
}

static void tell_absent(char *text, size_t size, unsigned int pid, unsigned int process)
{
	if (process)
		snprintf(text, size, "%u is a thread of process %u", pid, process);
	else
		snprintf(text, size, "there is no process %u", pid);
}

/*
 * Warns of absent processes. If the number is used again later, it belongs to another process than the one
 * that was meant.
 */
static int fit_processes(const struct iotr_session_spec *spec, struct json_object *warnings,
			 struct engine_error *error)
{
	size_t absent = 0;
	char text[64];

	if (!spec->pid_count || !sees_all_processes())
		return 0;
	for (size_t i = 0; i < spec->pid_count; i++) {
		unsigned int process = process_of(spec->pids[i]);

		if (process == spec->pids[i])
			continue;
		tell_absent(text, sizeof(text), spec->pids[i], process);
		if (!absent++)
			snprintf(error->message, sizeof(error->message), "%s", text);
		warn(warnings, "%s", text);
	}
	if (absent < spec->pid_count)
		return 0;
	strcpy(error->parameter, "pids");
	return -EINVAL;
}

/* ---- devices ---- */

static bool is_mounted(unsigned int device)
{
	_cleanup_(mount_list_done) struct mount_list list;
	struct mount_entry mount;

	if (mount_list_read(NULL, &list) < 0)
		return true;
	while (mount_list_next(&list, &mount))
		if (mount.device == device || (device < 1 << 20 && !strcmp(mount.type, "btrfs"))) /* of a subvolume */
			return true;
	return false;
}

/* Only a warning, as it may be mounted later, or in another namespace. */
static void warn_of_devices(const struct iotr_session_spec *spec, struct json_object *warnings)
{
	char path[64];

	for (size_t i = 0; i < spec->device_count; i++) {
		unsigned int device = spec->devices[i];

		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", device >> 20, device & 0xfffff);
		if (access(path, F_OK) < 0 && !is_mounted(device))
			warn(warnings, "no disk or file system has the device number %u:%u now", device >> 20,
			     device & 0xfffff);
	}
}

/* ---- paths ---- */

/* Operations of calls that name a file by its path. */
#define BY_PATH(operation) (1ULL << IOTR_VFS_##operation)
#define ALL_BY_PATH                                                                                                    \
	(BY_PATH(OPEN) | BY_PATH(GETATTR) | BY_PATH(SETATTR) | BY_PATH(CHDIR) | BY_PATH(UNLINK) | BY_PATH(TRUNCATE) |  \
	 BY_PATH(RENAME) | BY_PATH(MKDIR) | BY_PATH(RMDIR) | BY_PATH(LINK) | BY_PATH(SYMLINK) | BY_PATH(MKNOD) |       \
	 BY_PATH(ACCESS) | BY_PATH(READLINK) | BY_PATH(GETXATTR) | BY_PATH(SETXATTR) | BY_PATH(LISTXATTR) |            \
	 BY_PATH(REMOVEXATTR) | BY_PATH(STATFS) | BY_PATH(MOUNT) | BY_PATH(UMOUNT))

const char *filter_unseen(const struct iotr_session_spec *spec)
{
	uint64_t wanted = spec->operations[IOTR_VFS].bits[0];

	if (!spec->path_count || !(spec->streams & 1U << IOTR_VFS) || (wanted && !(wanted & ALL_BY_PATH)))
		return NULL;
	return "calls that name a file by path (UNLINK, RENAME, failed OPEN, ...) are judged by the path as written: what reaches "
	       "the folders of --path through a symbolic link elsewhere than above them, in / or in /var, or through a link or "
	       "mount made later, has no row";
}

int filter_fit_now(const struct iotr_session_spec *spec, struct json_object *warnings,
		   struct engine_error *error)
{
	int r = fit_processes(spec, warnings, error);

	if (r < 0)
		return r;
	warn_of_streams(spec, warnings);
	warn_of_operations(spec, warnings);
	warn_of_devices(spec, warnings);
	if (filter_unseen(spec))
		warn(warnings, "%s", filter_unseen(spec));
	return 0;
}

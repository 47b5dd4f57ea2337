// SPDX-License-Identifier: GPL-2.0-or-later
#include "amplification/lineage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "pipeline/cgroups/identity.h"

#define DELETED " (deleted)" /* after the path of a file that was removed */
#define CGROUP	"\n0::"	     /* of the second version, which is the only one in the hierarchy 0 */

static void file_of(const char *proc, uint32_t process, const char *name, char path[128])
{
	snprintf(path, 128, "%s/%u/%s", proc, process, name);
}

/* Reads `size` bytes at most, with a NUL. */
static bool read_file(const char *proc, uint32_t process, const char *name, char *text, size_t size)
{
	_cleanup_close_ int fd = -1;
	char path[128];
	ssize_t length;

	file_of(proc, process, name, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, text, size - 1);
	text[length > 0 ? length : 0] = '\0';
	return length > 0;
}

bool lineage_executable(const char *proc, uint32_t process, char path[LINEAGE_PATH])
{
	const size_t tail = strlen(DELETED);
	ssize_t length;
	char link[128];

	file_of(proc, process, "exe", link);
	length = readlink(link, path, LINEAGE_PATH - 1);
	path[length > 0 ? length : 0] = '\0';
	if (length > (ssize_t)tail && !strcmp(path + length - tail, DELETED))
		path[(size_t)length - tail] = '\0';
	return length > 0;
}

/* The command's name stands in parentheses, and may have any bytes in it: the last one ends it. */
static bool read_stat(const char *proc, uint32_t process, char *command, size_t size, uint32_t *parent)
{
	char text[1024], *begin, *end;

	if (!read_file(proc, process, "stat", text, sizeof(text)))
		return false;
	begin = strchr(text, '(');
	end = strrchr(text, ')');
	if (!begin || !end || end < begin || sscanf(end + 1, " %*c %u", parent) != 1)
		return false;
	snprintf(command, size, "%.*s", (int)(end - begin - 1), begin + 1);
	return true;
}

static void read_cgroup(const char *proc, uint32_t process, char path[LINEAGE_PATH])
{
	char text[LINEAGE_PATH + 8] = "\n", *found;

	*path = '\0';
	if (!read_file(proc, process, "cgroup", text + 1, LINEAGE_PATH))
		return;
	found = strstr(text, CGROUP);
	if (found)
		snprintf(path, LINEAGE_PATH, "%.*s", (int)strcspn(found + strlen(CGROUP), "\n"), found + strlen(CGROUP));
}

/* The system that it is of by itself, or NULL. Returns false if it is not there. */
static bool look(const struct lineage *lineage, uint32_t process, uint32_t *parent, const char **system)
{
	char path[LINEAGE_PATH], cgroup[LINEAGE_PATH], command[64];
	struct cgroup_identity groups;

	if (!read_stat(lineage->proc, process, command, sizeof(command), parent))
		return false;
	lineage_executable(lineage->proc, process, path);
	read_cgroup(lineage->proc, process, cgroup);
	cgroup_identify(cgroup, &groups);
	*system = system_rules_find(lineage->rules, &(struct system_identity){
		.executable = path, .command = command, .cgroup = cgroup, .unit = groups.unit,
		.container_id = groups.container_id });
	return true;
}

static void search(const struct lineage *lineage, uint32_t process, char system[SYSTEM_NAME_SIZE])
{
	const char *found = NULL;
	uint32_t parent = 0;

	for (int i = 0; i < LINEAGE_MAX && process && !found; i++, process = parent)
		if (!look(lineage, process, &parent, &found))
			break;
	snprintf(system, SYSTEM_NAME_SIZE, "%s", found ?: "");
}

void lineage_find(struct lineage *lineage, uint32_t process, char system[SYSTEM_NAME_SIZE])
{
	struct lineage_answer *answer = NULL;

	for (size_t i = 0; i < lineage->count; i++)
		if (lineage->answers[i].process == process)
			answer = &lineage->answers[i];
	if (!answer) {
		search(lineage, process, system);
		if (lineage->count == LINEAGE_MAX)
			return;
		answer = &lineage->answers[lineage->count++];
		answer->process = process;
		memcpy(answer->system, system, SYSTEM_NAME_SIZE);
	}
	memcpy(system, answer->system, SYSTEM_NAME_SIZE);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/descendants.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "output/complain.h"
#include "output/json.h"

enum { NAMED_MOST = 10, COMMAND_SIZE = 64 };

struct process {
	pid_t pid, parent;
	unsigned long long start; /* clock ticks since the machine's start */
	bool ended, ours;	  /* ended: its parent has yet to take note of that */
	char command[COMMAND_SIZE];
};

struct processes {
	struct process *all;
	size_t count, room;
};

DEFINE_CLEANUP(DIR *, closedir);

/* The command may hold anything, parentheses too, so the last one ends it. */
static bool parse(const char *text, struct process *process)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	int parent;
	char state;

	if (!open || !close || close < open)
		return false;
	process->pid = atoi(text);
	snprintf(process->command, sizeof(process->command), "%.*s", (int)(close - open - 1), open + 1);
	if (sscanf(close + 1, " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &state, &parent,
		   &process->start) != 3)
		return false;
	process->parent = parent;
	process->ended = state == 'Z' || state == 'X';
	return true;
}

static bool read_process(const char *number, struct process *process)
{
	char path[sizeof("/proc//stat") + NAME_MAX], text[1024];
	_cleanup_fclose_ FILE *file = NULL;
	size_t size;

	snprintf(path, sizeof(path), "/proc/%s/stat", number);
	file = fopen(path, "re");
	size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[size] = '\0';
	*process = (struct process){ 0 };
	return parse(text, process);
}

static void read_all(struct processes *processes)
{
	_cleanup_(closedirp) DIR *folder = opendir("/proc");
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		struct process process;

		if (*entry->d_name < '1' || *entry->d_name > '9' || !read_process(entry->d_name, &process))
			continue;
		if (processes->count == processes->room) {
			size_t room = 2 * processes->room + 256;
			struct process *all = reallocarray(processes->all, room, sizeof(*all));

			if (!all)
				return;
			processes->all = all;
			processes->room = room;
		}
		processes->all[processes->count++] = process;
	}
}

static bool has_our_parent(const struct processes *processes, const struct process *process)
{
	if (process->parent == getpid())
		return true;
	for (size_t i = 0; i < processes->count; i++)
		if (processes->all[i].ours && processes->all[i].pid == process->parent)
			return true;
	return false;
}

/* Marks the descendants of this process; again and again, as a parent may stand behind its children. */
static void mark(struct processes *processes, pid_t except)
{
	bool again = true;

	while (again) {
		again = false;
		for (size_t i = 0; i < processes->count; i++) {
			struct process *process = &processes->all[i];

			if (process->ours || process->pid == except || !has_our_parent(processes, process))
				continue;
			process->ours = again = true;
		}
	}
}

static int by_start(const void *a, const void *b)
{
	const struct process *one = a, *other = b;

	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	return (one->pid > other->pid) - (one->pid < other->pid);
}

struct json_object *descendants_list(pid_t except)
{
	struct json_object *list = json_object_new_array();
	struct processes processes = { 0 };

	read_all(&processes);
	mark(&processes, except);
	if (processes.count)
		qsort(processes.all, processes.count, sizeof(*processes.all), by_start);
	for (size_t i = 0; i < processes.count; i++) {
		const struct process *process = &processes.all[i];
		struct json_object *entry;

		if (!process->ours || process->ended)
			continue;
		entry = json_object_new_object();
		json_object_object_add(entry, "pid", json_object_new_int(process->pid));
		json_object_object_add(entry, "command", json_escaped(process->command));
		json_object_array_add(list, entry);
	}
	free(processes.all);
	return list;
}

void descendants_complain(struct json_object *list, const char *seen)
{
	size_t count = count_of(list), at = 0, named = count < NAMED_MOST ? count : NAMED_MOST;
	char names[NAMED_MOST * (COMMAND_SIZE * 4 + 16)] = "", more[32] = "";

	if (!count)
		return;
	for (size_t i = 0; i < named && at < sizeof(names); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);

		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%d %s", i ? ", " : "", (int)number_of(entry, "pid"),
				       text_of(entry, "command", "?"));
	}
	if (count > named)
		snprintf(more, sizeof(more), " and %zu more", count - named);
	complain("With --wait, this waits until all of them have ended.",
		 "the command has ended, but %s still run%s, and what %s from now on is not %s: %s%s",
		 count == 1 ? "a process that it started" : "processes that it started", count == 1 ? "s" : "",
		 count == 1 ? "it does" : "they do", seen, names, more);
}

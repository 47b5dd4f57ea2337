// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * iotr-trigger --list
 * iotr-trigger [--wait] [--expect FILE] [--count N] NAME DIR
 * iotr-trigger --block DEVICE OPERATION:OFFSET:LENGTH...
 */
#include "trigger.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workload.h"

const char *trigger_dir;
unsigned long trigger_count = 1000;

static void run_workload(void)
{
	workload_files(trigger_count);
}

static void run_crowd(void)
{
	workload_crowd(trigger_count);
}

static const struct trigger work_triggers[] = {
	{ .name = "workload", .operations = "", .run = run_workload },
	{ .name = "crowd", .operations = "", .run = run_crowd },
	{ 0 },
};

static const struct trigger *const groups[] = {
	io_triggers,   file_triggers,  meta_triggers,	path_triggers,	map_triggers,
	copy_triggers, names_triggers, mount_triggers,	async_triggers, uring_triggers,
	ask_triggers,  hint_triggers,  odd_triggers,  ia32_triggers,  signal_triggers, work_triggers,
};
enum { GROUPS = sizeof(groups) / sizeof(*groups) };

void die(const char *what)
{
	fprintf(stderr, "iotr-trigger: %s: %s\n", what ? what : "?", strerror(errno));
	exit(1);
}

static int list(void)
{
	for (size_t i = 0; i < GROUPS; i++)
		for (const struct trigger *at = groups[i]; at->name; at++)
			printf("%s %s\n", at->name, at->operations);
	return 0;
}

static const struct trigger *find(const char *name)
{
	for (size_t i = 0; i < GROUPS; i++)
		for (const struct trigger *at = groups[i]; at->name; at++)
			if (!strcmp(at->name, name))
				return at;
	fprintf(stderr, "iotr-trigger: no trigger %s\n", name);
	exit(2);
}

/* READY, then a line from whoever started us, who has begun a session by then. */
static void wait_for_line(void)
{
	char byte = 0;

	if (write(STDOUT_FILENO, "READY\n", 6) != 6)
		die("READY");
	while (byte != '\n')
		if (read(STDIN_FILENO, &byte, 1) != 1)
			exit(1);
}

static void enter_dir(const char *dir)
{
	static char path[PATH_MAX];

	if (chdir(dir) || !getcwd(path, sizeof(path)))
		die(dir);
	trigger_dir = path;
}

static int run(const char *name, const char *dir, const char *expect, bool waiting)
{
	const struct trigger *trigger = find(name);

	enter_dir(dir);
	if (trigger->prepare && waiting)
		trigger->prepare();
	if (waiting)
		wait_for_line();
	trigger->run();
	expect_write(expect);
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: iotr-trigger [--wait] [--expect FILE] [--count N] NAME DIR\n"
			"       iotr-trigger --list\n"
			"       iotr-trigger --block DEVICE OPERATION:OFFSET:LENGTH...\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "list", no_argument, NULL, 'l' },
		{ "wait", no_argument, NULL, 'w' },
		{ "expect", required_argument, NULL, 'e' },
		{ "count", required_argument, NULL, 'c' },
		{ "block", required_argument, NULL, 'b' },
		{ 0 },
	};
	const char *expect = NULL;
	bool waiting = false;
	int option;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (option == 'l')
			return list();
		else if (option == 'w')
			waiting = true;
		else if (option == 'e')
			expect = optarg;
		else if (option == 'c')
			trigger_count = strtoul(optarg, NULL, 0);
		else if (option == 'b')
			return workload_block(optarg, argv + optind);
		else
			return usage();
	}
	if (argc - optind != 2)
		return usage();
	return run(argv[optind], argv[optind + 1], expect, waiting);
}

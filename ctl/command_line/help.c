// SPDX-License-Identifier: GPL-2.0-or-later
#include "command_line/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command_line/options.h"

enum {
	WIDTH_DEFAULT = 80, /* if the output is not a terminal */
	WIDTH_MIN = 40,
	WIDTH_MAX = 120, /* longer lines are hard to read */
	LEFT_MAX = 30,	 /* after a wider left column the text begins on the next line */
};

static int width_of_terminal(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col)
		return WIDTH_DEFAULT;
	if (size.ws_col < WIDTH_MIN)
		return WIDTH_MIN;
	return size.ws_col > WIDTH_MAX ? WIDTH_MAX : size.ws_col;
}

/* Prints the words of the text from column `at` on; further lines begin in column `indent`. Ends the line. */
static void print_wrapped(const char *text, int at, int indent)
{
	int width = width_of_terminal();
	bool first = true;

	while (*text) {
		int length = (int)strcspn(text, " ");

		if (!first && at + 1 + length > width) {
			printf("\n%*s", indent, "");
			at = indent;
		} else if (!first) {
			putchar(' ');
			at++;
		}
		printf("%.*s", length, text);
		at += length;
		text += length;
		text += strspn(text, " ");
		first = false;
	}
	putchar('\n');
}

/* Prints "  left   text": the text begins after `left_width` columns. */
static void print_entry(const char *left, int left_width, const char *text)
{
	int indent = 2 + left_width + 2, length = (int)strlen(left);

	if (length > left_width)
		printf("  %s\n%*s", left, indent, "");
	else
		printf("  %-*s  ", left_width, left);
	print_wrapped(text, indent, indent);
}

/* The widest entry that fits into the left column. */
static int left_width(const struct option_group *const *groups)
{
	int widest = 0;

	for (const struct option_group *const *group = groups; group && *group; group++)
		for (size_t i = 0; i < (*group)->count; i++) {
			char text[96];
			int length = (int)strlen(options_describe(&(*group)->rows[i], text, sizeof(text)));

			if (length > widest && length <= LEFT_MAX)
				widest = length;
		}
	return widest;
}

static void print_group(const struct option_group *group, int width)
{
	char left[96];

	printf("\n%s:\n", group->title);
	for (size_t i = 0; i < group->count; i++)
		print_entry(options_describe(&group->rows[i], left, sizeof(left)), width,
			    group->rows[i].help);
}

static const struct option_group *const global_groups[] = { &global_options, NULL };

/* Prints the verbs in groups, below each group's title. */
static void print_verbs(const struct verb *const *verbs)
{
	const char *group = "";

	for (; *verbs; verbs++) {
		if (strcmp((*verbs)->group, group))
			printf("\n%s:\n", (*verbs)->group);
		group = (*verbs)->group;
		print_entry((*verbs)->name, 10, (*verbs)->summary);
	}
}

void help_print(const struct verb *const *verbs)
{
	puts("Usage: iotracectl [OPTION...] VERB [ARGUMENT...]\n"
	     "\n"
	     "Controls iotracerd, which records what the I/O of this machine does. Verbs:");
	print_verbs(verbs);
	print_group(&global_options, left_width(global_groups));
	puts("\n"
	     "Examples:\n"
	     "  iotracectl record --vfs --block --output DIR -- COMMAND\n"
	     "  iotracectl start --all --duration 1m\n"
	     "  iotracectl top\n"
	     "\n"
	     "'iotracectl help VERB' shows what a verb takes.\n"
	     "\n"
	     "Exit codes: 0 done, 1 failed, 2 usage, 3 daemon not reachable, 4 not permitted,\n"
	     "5 no such session, 6 done in part.");
}

void help_print_verb(const struct verb *verb)
{
	int width = left_width(verb->options), globals = left_width(global_groups);
	int at = printf("Usage: iotracectl %s%s", verb->name, *verb->synopsis ? " " : "");

	print_wrapped(verb->synopsis, at, at);
	printf("\n%c%s.\n", verb->summary[0] - 'a' + 'A', verb->summary + 1);
	if (width < globals)
		width = globals;
	for (const struct option_group *const *group = verb->options; group && *group; group++)
		print_group(*group, width);
	print_group(&global_options, width);
}

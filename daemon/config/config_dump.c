// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/config_dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "config/config.h"
#include "config/config_check.h"
#include "config/settings.def"

struct shown {
	const char *section, *key, *without; /* without: what stands for the default */
};

#define SHOWN(section, key, parse, field, when, without, ...) { #section, #key, without },
static const struct shown settings[] = { IOTR_SETTINGS(SHOWN) };
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

/* What was read; texts belong to it. */
struct dump {
	char *taken[SETTINGS]; /* comment and assignment; NULL: the default holds */
	FILE *systems;	       /* the lines of the sections of storage systems, in their order */
	char *text;
	size_t size;
	bool usable;
};

static void take_setting(char **taken, const char *key, const char *value, const char *path, unsigned line)
{
	free(TAKE(*taken));
	if (*value && asprintf(taken, "# %s:%u\n%s=%s\n", path, line, key, value) < 0)
		*taken = NULL;
}

static void on_assignment(const char *section, const char *key, const char *value, const char *path, unsigned line,
			  void *userdata)
{
	struct dump *dump = userdata;

	for (size_t i = 0; i < SETTINGS; i++) {
		if (strcmp(settings[i].section, section) || strcmp(settings[i].key, key))
			continue;
		take_setting(&dump->taken[i], key, value, path, line);
		return;
	}
	fprintf(dump->systems, "\n[%s]\n# %s:%u\n%s=%s\n", section, path, line, key, value);
}

static void on_finding(enum config_finding finding, const char *sentence, void *userdata)
{
	struct dump *dump = userdata;

	config_finding_print(finding, sentence);
	if (finding != CONFIG_UNKNOWN)
		dump->usable = false;
}

static void print_settings(const struct dump *dump)
{
	const char *section = "";

	for (size_t i = 0; i < SETTINGS; i++) {
		const struct shown *one = &settings[i];

		if (strcmp(section, one->section))
			printf("%s[%s]\n", *section ? "\n" : "", one->section);
		section = one->section;
		if (dump->taken[i])
			fputs(dump->taken[i], stdout);
		else
			printf("# the default\n%s%s=%s\n", *one->without ? "" : "#", one->key, one->without);
	}
}

bool config_dump(const char *path, bool required)
{
	struct dump dump = { .usable = true };
	struct config config;
	int r;

	dump.systems = open_memstream(&dump.text, &dump.size);
	if (!dump.systems)
		return false;
	r = config_follow(path, required, &config, on_finding, on_assignment, &dump);
	fclose(dump.systems);
	if (r >= 0) {
		print_settings(&dump);
		fputs(dump.text, stdout);
	}
	for (size_t i = 0; i < SETTINGS; i++)
		free(dump.taken[i]);
	free(dump.text);
	return r >= 0 && dump.usable && !fflush(stdout);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/config_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "config/config.h"
#include "config/config_file.h"
#include "escape.h"
#include "config/session_file.h"

/* What a file says may contain any byte; it must not command the terminal. */
void config_finding_print(enum config_finding finding, const char *sentence)
{
	size_t length = strlen(sentence);
	_cleanup_free_ char *escaped = malloc(ESCAPE_MAX(length) + 1);

	if (!escaped)
		return;
	length = escape_text(sentence, length, escaped);
	fprintf(stderr, "%.*s%s\n", (int)length, escaped, finding == CONFIG_UNKNOWN ? ", which is ignored" : "");
}

static void on_finding(enum config_finding finding, const char *sentence, void *userdata)
{
	bool *usable = userdata;

	config_finding_print(finding, sentence);
	if (finding != CONFIG_UNKNOWN)
		*usable = false;
}

static void on_session(const char *name, struct iotr_session_spec *spec, void *userdata)
{
	(void)name, (void)spec, (void)userdata; /* what is wrong was told */
}

bool config_check(const char *path, bool required)
{
	/* One that is named may not be in its place yet: Ansible has it written by whom it is logged in as. */
	enum config_use use = required && strcmp(path, CONFIG_PATH) ? CONFIG_LOOKED_AT : CONFIG_DECIDES;
	char folder[PATH_MAX];
	struct config config;
	bool usable = true;
	int r = 0;

	if (required && session_file_is(path)) {
		session_file_check(path, on_finding, &usable);
		return usable;
	}
	r = config_examine(path, required, use, &config, on_finding, &usable);
	session_files_folder(path, folder);
	session_files_read(folder, on_finding, on_session, &usable);
	return r >= 0 && usable;
}

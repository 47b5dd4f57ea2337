// SPDX-License-Identifier: GPL-2.0-or-later
/* iotracerd.conf of any bytes: each finding is a sentence, and what is understood is in force. */
#include "config/config.h"
#include "fuzz.h"
#include "input_file.h"

static void critic(enum config_finding finding, const char *sentence, void *findings)
{
	ck_assert(finding <= CONFIG_REFUSED && *sentence);
	++*(size_t *)findings;
}

static void listener(const char *section, const char *key, const char *value, const char *path, unsigned line,
		     void *assignments)
{
	ck_assert(*section && *key && value && *path && line);
	++*(size_t *)assignments;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config config; /* too large for a stack that is looked after */
	size_t findings = 0, assignments = 0;
	char path[128];

	input_put("file.conf", data, size);
	snprintf(path, sizeof(path), "%s/file.conf", input_folder()->path);
	config_follow(path, true, &config, critic, listener, &assignments);
	config_examine(path, true, CONFIG_LOOKED_AT, &config, critic, &findings);
	return 0;
}

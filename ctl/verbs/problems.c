// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/problems.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "manifest_text.h"
#include "output/complain.h"
#include "output/json.h"
#include "verify/verify.h"

int complain_no_trace(const char *path, const struct verify_report *report)
{
	struct json_object *first = count_of(report->lists[VERIFY_WRONG]) ?
					    json_object_array_get_idx(report->lists[VERIFY_WRONG], 0) : NULL;
	char name[PATH_MAX + sizeof("/" MANIFEST_NAME)];

	snprintf(name, sizeof(name), "%.*s/%s", PATH_MAX - 1, path, MANIFEST_NAME);
	complain(access(name, F_OK) < 0 ? VERIFY_HINT : NULL, "%s/%s: %s", path,
		 text_of(first, "file", MANIFEST_NAME), text_of(first, "what", "it cannot be read"));
	return EXIT_FAILED;
}

int complain_problems(const struct verify_report *report)
{
	struct json_object *list = report->lists[VERIFY_WRONG];

	for (size_t i = 0; i < count_of(list); i++) {
		struct json_object *problem = json_object_array_get_idx(list, i);

		complain(NULL, "%s: %s", text_of(problem, "file", ""), text_of(problem, "what", ""));
	}
	return report->counts[VERIFY_WRONG] ? EXIT_FAILED : EXIT_DONE;
}

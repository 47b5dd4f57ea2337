// SPDX-License-Identifier: GPL-2.0-or-later
#include "error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int engine_fail(struct engine_error *error, int r, const char *parameter, const char *message)
{
	const char *cause = r == -ENOMEM && message && !strstr(message, "memory") ? ": out of memory" : "";

	snprintf(error->parameter, sizeof(error->parameter), "%s", parameter);
	if (message)
		snprintf(error->message, sizeof(error->message), "%s%s", message, cause);
	return r;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "error.h"

#include <stdio.h>

int engine_fail(struct engine_error *error, int r, const char *parameter, const char *message)
{
	snprintf(error->parameter, sizeof(error->parameter), "%s", parameter);
	if (message)
		snprintf(error->message, sizeof(error->message), "%s", message);
	return r;
}

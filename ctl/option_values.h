/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an option's value says, by the kind of its row. One thread. */
#pragma once

#include "options.h"

/* Into the parameters of the call, or into the context. EXIT_DONE, or EXIT_USAGE after
 * complaining. */
int option_take(struct context *context, const struct option_row *row, const char *value,
		struct json_object *parameters);

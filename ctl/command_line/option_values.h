/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses an option's value according to the kind of its row. One thread. */
#pragma once

#include "command_line/options.h"

/*
 * Stores the value in the parameters of the call, or in the context. Returns EXIT_DONE, or EXIT_USAGE after
 * printing an error.
 */
int option_take(struct context *context, const struct option_row *row, const char *value,
		struct json_object *parameters);

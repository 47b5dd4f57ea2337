/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an error of the protocol means to the user. One thread. */
#pragma once

#include <json-c/json.h>

#include "verb.h"

/* Prints the error on stderr, with what to do about it. Returns the exit code. */
int explain_error(const struct context *context, const char *error, struct json_object *parameters);

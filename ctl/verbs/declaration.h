/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file that declares a session which `start` would start. One thread. */
#pragma once

#include <json-c/json.h>

#include "verb.h"

/* Prints it, from the parameters of Start. Returns an exit code. */
int print_declaration(struct context *context, struct json_object *parameters);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* amplification -- COMMAND: what is counted while a command runs, of it with its descendants, and of the machine. One thread. */
#pragma once

#include <json-c/json.h>

#include "verb.h"

/*
 * Begins to count, runs the command until it ends (`wait`: until all that it started has ended, too), waits until what is
 * dirty is written, if the context says so, and calls `show` with what was counted. `parameters`: of the method
 * Amplification; some are added. The reply's "command" has the name of the command, and the reply the "exit_code" and what is
 * "still_running"; without "by" it has no "groups" but in JSON. Returns the exit code of the command as verbs/child.h has it,
 * 126 or 127 where it cannot be run, or the exit code after printing an error.
 */
int amplification_command(const struct context *context, struct json_object *parameters, char **command,
			  bool wait, void (*show)(struct json_object *reply, const void *userdata), const void *userdata);

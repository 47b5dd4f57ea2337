/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that a command started and that outlive it. Those whose parent has ended become children of this process: see
 * child_new(). One thread.
 */
#pragma once

#include <json-c/json.h>

#include "verbs/child.h"

/* New array of {pid, command}, the oldest first; `except`, a child of this process that is not the command's, is left out. */
struct json_object *descendants_list(pid_t except);

/* Names them on stderr, and says what is not seen of them from now on: "recorded". Nothing where there are none. */
void descendants_complain(struct json_object *list, const char *seen);

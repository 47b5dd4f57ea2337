/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is not recorded of a session, as status and manifest have it: `missing`, an array of {stream, operation, reason}. One thread. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Writes "vfs OPEN, STAT: why", of the element and all later ones of the same stream and with the same reason; with `hooks` the
 * hook stands for an operation where there is none. False: an earlier
 * element has told of this one.
 */
bool format_missing(char *text, size_t size, struct json_object *missing, size_t at, bool hooks);

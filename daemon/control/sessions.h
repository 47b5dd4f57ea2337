/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sessions of the engine, as the methods see them: by their status. Main thread only. */
#pragma once

#include <json-c/json.h>

struct call;

/*
 * Returns in `*ret` a new array with the status of the named session, or of all when name is NULL. -ENOENT: there
 * is none of that name, which has been replied.
 */
int sessions_find(struct call *call, const char *name, struct json_object **ret);

/* The name of number `i` of such an array, in which it stays valid. */
const char *sessions_name(struct json_object *sessions, size_t i);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Roles: what a user may ask the daemon for. Each has all rights of those before it. Root has the last one; other users
 * have that of a group which they are in, and without one they may not connect. Any thread.
 */
#pragma once

#include <json-c/json.h>
#include <sys/types.h>

#define GROUP_NONE ((gid_t)-1) /* the machine has no such group */

enum role {
	ROLE_NONE,
	ROLE_READ,    /* lists sessions and looks at them: attaches no hook, makes no file, changes nothing */
	ROLE_CONTROL, /* everything */
	ROLE_COUNT,
};

/* As it stands in errors: "read". */
const char *role_name(enum role role);
/* The name of the group whose members have the role. Not for ROLE_NONE. */
const char *role_group(enum role role);

/* The parameters of PermissionDenied, for who lacks the role; the caller owns them. Not for ROLE_NONE. */
struct json_object *role_denied(enum role needed);

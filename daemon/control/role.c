// SPDX-License-Identifier: GPL-2.0-or-later
#include "role.h"

#include "protocol.h"

static const struct {
	const char *name, *group;
} roles[ROLE_COUNT] = {
	[ROLE_NONE] = { "none", NULL },
	[ROLE_READ] = { "read", IOTR_READ_GROUP },
	[ROLE_CONTROL] = { "control", IOTR_GROUP },
};

const char *role_name(enum role role)
{
	return roles[role].name;
}

const char *role_group(enum role role)
{
	return roles[role].group;
}

struct json_object *role_denied(enum role needed)
{
	struct json_object *parameters = json_object_new_object();

	json_object_object_add(parameters, "role", json_object_new_string(role_name(needed)));
	json_object_object_add(parameters, "group", json_object_new_string(role_group(needed)));
	return parameters;
}

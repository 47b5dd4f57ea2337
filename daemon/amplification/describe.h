/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups as the method Amplification has them. One thread. */
#pragma once

#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>

#include "amplification/group.h"
#include "formulas.h"

/*
 * Adds "groups", the first `count` of them, "others", the sum of those that are left, or null, "all", and, if a command was
 * wished for, "command".
 */
void describe_groups(const struct group_list *list, const struct group_wish *wish, size_t count, const struct surroundings *surroundings,
		     struct json_object *object);

// SPDX-License-Identifier: GPL-2.0-or-later
#include "formulas_json.h"

#include <stdio.h>

#include "json_add.h"

struct json_object *factor_describe(struct factor factor)
{
	struct json_object *object = json_object_new_object();
	char text[32];

	snprintf(text, sizeof(text), "%.4f", factor.value);
	json_object_object_add(object, "value",
			       factor.known ? json_object_new_double_s(factor.value, text) : NULL);
	add_flag(object, "at_least", factor.at_least);
	if (factor.reason)
		add_string(object, "reason", factor.reason);
	return object;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameters of a call, read by a table of {name, parser}. A parameter that is in no row of the table, a
 * missing one that is required, and a value of the wrong type or outside its limits all give one error that
 * names the parameter. JSON null is the same as absent. Main thread only.
 *
 * Parsers return 0, or -EINVAL with a sentence in error->message; strings that they store are borrowed from
 * the call's parameters.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

enum { ARGUMENT_PID_MAX = 1 << 22 }; /* the kernel's own limit */

struct argument {
	const char *name;
	int (*parse)(struct json_object *value, void *target, struct engine_error *error);
	size_t offset; /* of the member of the target that the parser fills in */
	bool required;
};

/* Reads them in the order of the table, which ends with a row without a name. -EINVAL: see error. */
int arguments_read(struct json_object *parameters, const struct argument *rows, void *target,
		   struct engine_error *error);

/* Writes the sentence to the error and returns -EINVAL. */
int argument_refuse(struct engine_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Parsers of single values. Those that can be used in a table fill in a const char * (any string, a session's
 * name or an absolute path), a bool, or a uint64_t of any value up to INT64_MAX.
 */
int argument_string(struct json_object *value, void *target, struct engine_error *error);
int argument_session(struct json_object *value, void *target, struct engine_error *error);
int argument_folder(struct json_object *value, void *target, struct engine_error *error);
int argument_flag(struct json_object *value, void *target, struct engine_error *error);
int argument_count(struct json_object *value, void *target, struct engine_error *error);
int argument_number(struct json_object *value, uint64_t min, uint64_t max, uint64_t *ret,
		    struct engine_error *error);

/* Calls `each` for every element of an array, which must have 1 to IOTR_FILTER_VALUES_MAX elements. */
int argument_list(struct json_object *value,
		  int (*each)(struct json_object *value, void *target, struct engine_error *error),
		  void *target, struct engine_error *error);

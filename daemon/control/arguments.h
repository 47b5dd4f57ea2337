/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameters of a call, read by a table of {name, parser}: a name that no row has, a missing one
 * that is required, a value of the wrong type or outside its limits all end in one error that
 * names the parameter. JSON null is the same as absent. Main thread only.
 *
 * Parsers return 0, or -EINVAL with a sentence in error->message; what they store of strings is
 * borrowed from the call's parameters.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call.h"
#include "engine.h"

struct argument {
	const char *name;
	int (*parse)(struct json_object *value, void *target, struct engine_error *error);
	size_t offset; /* in the target, of what the parser fills in */
	bool required;
};

/* Rows are parsed in the order of the table. -EINVAL: see error. */
int arguments_read(struct json_object *parameters, const struct argument *rows, size_t count,
		   void *target, struct engine_error *error);

/* The same for a call, which has its error reply when this fails. */
int arguments_read_call(struct call *call, const struct argument *rows, size_t count, void *target);

/* Says what is wrong; -EINVAL. */
int argument_refuse(struct engine_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Parsers of single values. Those that can stand in a row fill in a const char *, of a name or an
 * absolute path too, a bool, or a uint64_t that may have any value up to INT64_MAX.
 */
int argument_string(struct json_object *value, void *target, struct engine_error *error);
int argument_session(struct json_object *value, void *target, struct engine_error *error);
int argument_folder(struct json_object *value, void *target, struct engine_error *error);
int argument_flag(struct json_object *value, void *target, struct engine_error *error);
int argument_count(struct json_object *value, void *target, struct engine_error *error);
int argument_number(struct json_object *value, uint64_t min, uint64_t max, uint64_t *ret,
		    struct engine_error *error);

/* Runs `each` over 1 to IOTR_FILTER_VALUES_MAX values of an array. */
int argument_list(struct json_object *value,
		  int (*each)(struct json_object *value, void *target, struct engine_error *error),
		  void *target, struct engine_error *error);

/* A list of streams: their bits are added to the uint32_t target. */
int argument_streams(struct json_object *value, void *target, struct engine_error *error);

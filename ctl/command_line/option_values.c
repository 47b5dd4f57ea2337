// SPDX-License-Identifier: GPL-2.0-or-later
#include "command_line/option_values.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "command_line/session_options.h"
#include "nearest.h"
#include "output/complain.h"
#include "protocol.h"
#include "schema.h"
#include "units.h"

#define INTERVAL_MIN_NS 100000000ULL
#define INTERVAL_MAX_S	86400
#define SETTLE_NS	30000000000ULL /* of --settle without a value */

static int refuse(const struct context *context, const struct option_row *row, const char *value,
		  const char *what)
{
	return complain_usage_of(context, row->parameter ?: row->name, "--%s: '%s' is %s", row->name,
				 value, what);
}

typedef int parser(struct context *context, const struct option_row *row, const char *value,
		   struct json_object *parameters);

static int set_switch(struct context *context, const struct option_row *row, const char *value,
		      struct json_object *parameters)
{
	(void)context, (void)value;
	json_object_object_add(parameters, row->parameter, json_object_new_boolean(true));
	return EXIT_DONE;
}

static int set_not(struct context *context, const struct option_row *row, const char *value,
		   struct json_object *parameters)
{
	(void)context, (void)value;
	json_object_object_add(parameters, row->parameter, json_object_new_boolean(false));
	return EXIT_DONE;
}

static int set_on_off(struct context *context, const struct option_row *row, const char *value,
		      struct json_object *parameters)
{
	bool on = !strcmp(value, "on");

	if (!on && strcmp(value, "off"))
		return refuse(context, row, value, "neither on nor off");
	json_object_object_add(parameters, row->parameter, json_object_new_boolean(on));
	return EXIT_DONE;
}

static int set_text(struct context *context, const struct option_row *row, const char *value,
		    struct json_object *parameters)
{
	if (!*value)
		return refuse(context, row, value, "empty");
	json_object_object_add(parameters, row->parameter, json_object_new_string(value));
	return EXIT_DONE;
}

/*
 * Refuses `value`, which is `what` (such as "not one of") those in the list; suggests the most similar one.
 */
static int refuse_choice(const struct context *context, const struct option_row *row,
			 const char *value, const char *what, const char *list)
{
	struct iotr_nearest nearest = { .word = value };
	_cleanup_free_ char *copy = strdup(list);
	char *rest = copy, *part;

	while ((part = strsep(&rest, ",")))
		iotr_nearest_try(&nearest, part + strspn(part, " "));
	return complain_usage_of(context, row->parameter ?: row->name, "--%s: '%s' is %s %s%s%s%s",
				 row->name, value, what, list,
				 nearest.best ? "; did you mean '" : "", nearest.best ?: "",
				 nearest.best ? "'?" : "");
}

static void list_add(char *list, size_t size, const char *word)
{
	size_t at = strlen(list);

	snprintf(list + at, size - at, "%s%s", at ? ", " : "", word);
}

/* Sets one of the choices in `row->value`. */
static int set_choice(struct context *context, const struct option_row *row, const char *value,
		      struct json_object *parameters)
{
	_cleanup_free_ char *copy = strdup(row->value);
	char *rest = copy, *part, list[256] = "";

	while ((part = strsep(&rest, "|"))) {
		if (!strcmp(part, value)) {
			json_object_object_add(parameters, row->parameter,
					       json_object_new_string(value));
			return EXIT_DONE;
		}
		list_add(list, sizeof(list), part);
	}
	return refuse_choice(context, row, value, "not one of", list);
}

/* Calls `add` for each part between commas. */
static int each_part(struct context *context, const struct option_row *row, const char *value,
		     struct json_object *list,
		     int (*add)(const struct context *context, const struct option_row *row,
				const char *part, struct json_object *list))
{
	_cleanup_free_ char *copy = strdup(value);
	char *rest = copy, *part;
	int r = EXIT_DONE;

	while (r == EXIT_DONE && (part = strsep(&rest, ","))) {
		if (!*part)
			return refuse(context, row, value, "a list with an empty part");
		r = add(context, row, part, list);
	}
	return r;
}

static int add_text(const struct context *context, const struct option_row *row, const char *part,
		    struct json_object *list)
{
	(void)context, (void)row;
	json_object_array_add(list, json_object_new_string(part));
	return EXIT_DONE;
}

static int add_number(const struct context *context, const struct option_row *row, const char *part,
		      struct json_object *list)
{
	uint64_t number;

	if (iotr_parse_number(part, INT64_MAX, &number) < 0)
		return refuse(context, row, part, "not a number");
	json_object_array_add(list, json_object_new_int64((int64_t)number));
	return EXIT_DONE;
}

static int add_texts(struct context *context, const struct option_row *row, const char *value,
		     struct json_object *parameters)
{
	return each_part(context, row, value, iotr_parameter_list(parameters, row->parameter), add_text);
}

static int add_numbers(struct context *context, const struct option_row *row, const char *value,
		       struct json_object *parameters)
{
	return each_part(context, row, value, iotr_parameter_list(parameters, row->parameter), add_number);
}

static int set_quantity(struct context *context, const struct option_row *row, const char *value,
			struct json_object *parameters, int (*parse)(const char *, uint64_t *),
			const char *what)
{
	uint64_t quantity = 0;
	int r = parse(value, &quantity);

	if (r == -ERANGE || quantity > INT64_MAX)
		return refuse(context, row, value, "out of range");
	if (r < 0)
		return refuse(context, row, value, what);
	json_object_object_add(parameters, row->parameter,
			       json_object_new_int64((int64_t)quantity));
	return EXIT_DONE;
}

static int set_number(struct context *context, const struct option_row *row, const char *value,
		      struct json_object *parameters)
{
	uint64_t number;

	if (iotr_parse_number(value, INT64_MAX, &number) < 0)
		return refuse(context, row, value, "not a number");
	json_object_object_add(parameters, row->parameter, json_object_new_int64((int64_t)number));
	return EXIT_DONE;
}

static int set_duration(struct context *context, const struct option_row *row, const char *value,
			struct json_object *parameters)
{
	return set_quantity(context, row, value, parameters, iotr_parse_duration,
			    "no duration: write 30s, 5m, 1h, 5ms or 250us");
}

static int set_size(struct context *context, const struct option_row *row, const char *value,
		    struct json_object *parameters)
{
	return set_quantity(context, row, value, parameters, iotr_parse_size,
			    "no size: write 4096, 64K, 128M or 1.5G");
}

/* If the value is "off", sets 0 and returns true. */
static bool set_off(const struct option_row *row, const char *value, struct json_object *parameters)
{
	if (strcmp(value, "off"))
		return false;
	json_object_object_add(parameters, row->parameter, json_object_new_int64(0));
	return true;
}

static int set_duration_off(struct context *context, const struct option_row *row,
			    const char *value, struct json_object *parameters)
{
	return set_off(row, value, parameters) ? EXIT_DONE
					       : set_duration(context, row, value, parameters);
}

static int set_size_off(struct context *context, const struct option_row *row, const char *value,
			struct json_object *parameters)
{
	return set_off(row, value, parameters) ? EXIT_DONE
					       : set_size(context, row, value, parameters);
}

static int parse_count(const char *text, uint64_t *count)
{
	int r = iotr_parse_number(text, INT64_MAX, count);

	return r < 0 || *count ? r : -ERANGE;
}

static int set_count(struct context *context, const struct option_row *row, const char *value,
		     struct json_object *parameters)
{
	return set_quantity(context, row, value, parameters, parse_count, "not a whole number");
}

/* Makes the path absolute. */
static int full_path(const struct context *context, const struct option_row *row, const char *value,
		     char *path, size_t size)
{
	char folder[PATH_MAX] = "";

	if (!*value)
		return refuse(context, row, value, "empty");
	if (*value != '/' && !getcwd(folder, sizeof(folder)))
		return refuse(context, row, value, "relative to a folder that is gone");
	while (!strncmp(value, "./", 2))
		value += 2;
	if ((size_t)snprintf(path, size, "%s%s%s", folder, *folder ? "/" : "", value) >= size)
		return refuse(context, row, value, "too long");
	return EXIT_DONE;
}

static int add_item(struct context *context, const struct option_row *row, const char *value,
		    struct json_object *parameters)
{
	if (!*value)
		return refuse(context, row, value, "empty");
	return add_text(context, row, value, iotr_parameter_list(parameters, row->parameter));
}

/* Sets the path, or adds it to the option's list. */
static int take_path(struct context *context, const struct option_row *row, const char *value,
		     struct json_object *parameters)
{
	char path[2 * PATH_MAX];
	int r = full_path(context, row, value, path, sizeof(path));

	if (r != EXIT_DONE)
		return r;
	return row->kind == OPTION_PATHS ? add_item(context, row, path, parameters) :
					   set_text(context, row, path, parameters);
}

static int add_sample(struct context *context, const struct option_row *row, const char *value,
		      struct json_object *parameters)
{
	const char *equals = strchr(value, '='), *share = value;
	struct json_object *sample = NULL;
	char stream[32], list[256] = "";
	uint64_t number;

	if (row->members) {
		snprintf(stream, sizeof(stream), "%s", row->members);
	} else if (equals) {
		snprintf(stream, sizeof(stream), "%.*s", (int)(equals - value), value);
		share = equals + 1;
	} else {
		return refuse(context, row, value, "not STREAM=N, as in cache=10");
	}
	if (iotr_stream_find(stream) < 0) {
		for (size_t i = 0; i < IOTR_STREAM_COUNT; i++)
			list_add(list, sizeof(list), iotr_schemas[i].flag);
		return refuse_choice(context, row, stream, "no stream: there are", list);
	}
	if (iotr_parse_number(share, INT64_MAX, &number) < 0)
		return refuse(context, row, value, "not a share: write N, for one in N events");
	if (!json_object_object_get_ex(parameters, row->parameter, &sample)) {
		sample = json_object_new_object();
		json_object_object_add(parameters, row->parameter, sample);
	}
	json_object_object_add(sample, stream, json_object_new_int64((int64_t)number));
	return EXIT_DONE;
}

static int add_filter(const struct context *context, const struct option_row *row, const char *part,
		      struct json_object *parameters)
{
	const char *parameter = filter_parameter(part), *name;
	char list[512] = "";

	for (size_t i = 0; !parameter && (name = filter_option(i)); i++)
		list_add(list, sizeof(list), name);
	if (!parameter)
		return refuse_choice(context, row, part, "no filter: there are", list);
	json_object_array_add(parameters, json_object_new_string(parameter));
	return EXIT_DONE;
}

static int add_filters(struct context *context, const struct option_row *row, const char *value,
		       struct json_object *parameters)
{
	return each_part(context, row, value, iotr_parameter_list(parameters, row->parameter), add_filter);
}

static void add_once(struct json_object *list, const char *text)
{
	for (size_t i = 0; i < json_object_array_length(list); i++)
		if (!strcmp(json_object_get_string(json_object_array_get_idx(list, i)), text))
			return;
	json_object_array_add(list, json_object_new_string(text));
}

static int add_stream(struct context *context, const struct option_row *row, const char *value,
		      struct json_object *parameters)
{
	(void)context, (void)value;
	add_once(iotr_parameter_list(parameters, row->parameter), row->name);
	return EXIT_DONE;
}

static bool is_member(const char *members, const char *flag)
{
	size_t length = strlen(flag);

	for (const char *at = members; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
		if (!strncmp(at, flag, length) && (at[length] == ',' || !at[length]))
			return true;
	return false;
}

static int add_streams(struct context *context, const struct option_row *row, const char *value,
		       struct json_object *parameters)
{
	bool found = false;

	(void)value;
	for (size_t i = 0; i < IOTR_STREAM_COUNT; i++) {
		if (row->members && !is_member(row->members, iotr_schemas[i].flag))
			continue;
		add_once(iotr_parameter_list(parameters, row->parameter), iotr_schemas[i].flag);
		found = true;
	}
	return found ? EXIT_DONE
		     : complain_usage(context, "--%s: this version has none of these streams",
				      row->name);
}

static int take_socket(struct context *context, const struct option_row *row, const char *value,
		       struct json_object *parameters)
{
	(void)parameters;
	if (!*value)
		return refuse(context, row, value, "empty");
	context->socket = value;
	return EXIT_DONE;
}

static int take_json(struct context *context, const struct option_row *row, const char *value,
		     struct json_object *parameters)
{
	(void)row, (void)value, (void)parameters;
	context->json = true;
	return EXIT_DONE;
}

static int take_help(struct context *context, const struct option_row *row, const char *value,
		     struct json_object *parameters)
{
	(void)row, (void)value, (void)parameters;
	context->help = true;
	return EXIT_DONE;
}

static int take_version(struct context *context, const struct option_row *row, const char *value,
			struct json_object *parameters)
{
	(void)row, (void)value, (void)parameters;
	context->version = true;
	return EXIT_DONE;
}

/* A number without a unit, such as "2", is in seconds here. `ns` is kept where there is no value. */
static int take_time(struct context *context, const struct option_row *row, const char *value, uint64_t *ns)
{
	uint64_t seconds;

	if (value && !iotr_parse_number(value, INTERVAL_MAX_S, &seconds))
		*ns = seconds * 1000000000;
	else if (value && iotr_parse_duration(value, ns) < 0)
		return refuse(context, row, value, "no time: write 2, 2s or 500ms");
	if (*ns < INTERVAL_MIN_NS || *ns > INTERVAL_MAX_S * 1000000000ULL)
		return refuse(context, row, value, "not from 100ms to a day");
	return EXIT_DONE;
}

static int take_interval(struct context *context, const struct option_row *row, const char *value,
			 struct json_object *parameters)
{
	(void)parameters;
	context->interval_ns = 1000000000;
	return take_time(context, row, value, &context->interval_ns);
}

static int take_settle(struct context *context, const struct option_row *row, const char *value,
		       struct json_object *parameters)
{
	(void)parameters;
	context->settle_ns = SETTLE_NS;
	return take_time(context, row, value, &context->settle_ns);
}

static int take_key(struct context *context, const struct option_row *row, const char *value,
		    struct json_object *parameters)
{
	bool host = value && !strcmp(value, "host");

	if (value && !host && strcmp(value, "session") != 0)
		return refuse(context, row, value, "neither session nor host");
	json_object_object_add(parameters, row->parameter, json_object_new_boolean(true));
	json_object_object_add(parameters, "anonymize_host", json_object_new_boolean(host));
	return EXIT_DONE;
}

static parser *const parsers[] = {
	[OPTION_SWITCH] = set_switch,
	[OPTION_TEXT] = set_text,
	[OPTION_CHOICE] = set_choice,
	[OPTION_TEXTS] = add_texts,
	[OPTION_NUMBERS] = add_numbers,
	[OPTION_NUMBER] = set_number,
	[OPTION_NOT] = set_not,
	[OPTION_ON_OFF] = set_on_off,
	[OPTION_DURATION] = set_duration,
	[OPTION_SIZE] = set_size,
	[OPTION_DURATION_OFF] = set_duration_off,
	[OPTION_SIZE_OFF] = set_size_off,
	[OPTION_COUNT] = set_count,
	[OPTION_ITEM] = add_item,
	[OPTION_PATHS] = take_path,
	[OPTION_SAMPLE] = add_sample,
	[OPTION_CLEAR] = add_filters,
	[OPTION_PATH] = take_path,
	[OPTION_STREAM] = add_stream,
	[OPTION_STREAMS] = add_streams,
	[OPTION_SOCKET] = take_socket,
	[OPTION_JSON] = take_json,
	[OPTION_HELP] = take_help,
	[OPTION_VERSION] = take_version,
	[OPTION_INTERVAL] = take_interval,
	[OPTION_SETTLE] = take_settle,
	[OPTION_KEY] = take_key,
};
_Static_assert(sizeof(parsers) / sizeof(parsers[0]) == OPTION_KIND_COUNT, "a kind has no parser");

int option_take(struct context *context, const struct option_row *row, const char *value,
		struct json_object *parameters)
{
	return parsers[row->kind](context, row, value, parameters);
}

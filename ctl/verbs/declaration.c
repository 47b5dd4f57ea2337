// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/declaration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "command_line/options.h"
#include "command_line/session_options.h"
#include "output/complain.h"
#include "output/json.h"
#include "protocol.h"
#include "session_spec.h"

/* What is printed; wrong: the key whose value a file cannot hold, or NULL. */
struct declaration {
	FILE *file;
	const char *wrong;
};

/* Whether the value is the same again where it is read from a line. */
static bool fits(const char *value)
{
	size_t length = strlen(value);

	for (size_t i = 0; i < length; i++)
		if ((unsigned char)value[i] < ' ')
			return false;
	return length && value[0] != ' ' && value[length - 1] != ' ' && value[length - 1] != '\\';
}

static void print_key(struct declaration *declaration, const char *key, const char *value)
{
	if (!fits(value))
		declaration->wrong = key;
	fprintf(declaration->file, "%s=%s\n", key, value);
}

/* Units from the greatest to the smallest, which is 1. */
struct unit {
	uint64_t size;
	const char *name;
};

static const struct unit times[] = { { 86400000000000, "d" }, { 3600000000000, "h" }, { 60000000000, "m" }, { 1000000000, "s" },
				     { 1000000, "ms" },	      { 1000, "us" },	      { 1, "ns" } };
static const struct unit sizes[] = { { 1ULL << 40, "T" }, { 1ULL << 30, "G" }, { 1ULL << 20, "M" }, { 1ULL << 10, "K" }, { 1, "" } };

/* In the greatest unit of which it is a whole number, as nothing is to be rounded. */
static void print_quantity(struct declaration *declaration, const char *key, struct json_object *value, const struct unit *unit,
			   bool or_off)
{
	uint64_t number = json_object_get_uint64(value);

	if (or_off && !number) {
		print_key(declaration, key, "off");
		return;
	}
	while (number % unit->size)
		unit++;
	fprintf(declaration->file, "%s=%" PRIu64 "%s\n", key, number / unit->size, unit->name);
}

/* One line each, as an element may have a comma where it is not a list of names. */
static void print_list(struct declaration *declaration, const char *key, struct json_object *list)
{
	for (size_t i = 0; i < count_of(list); i++)
		print_key(declaration, key, json_object_get_string(json_object_array_get_idx(list, i)));
}

static void print_sample(struct declaration *declaration, const char *key, struct json_object *sample)
{
	json_object_object_foreach(sample, stream, share)
		fprintf(declaration->file, "%s=%s=%s\n", key, stream, json_object_get_string(share));
}

static void print_option(struct declaration *declaration, const struct option_row *row, struct json_object *parameters)
{
	struct json_object *value = member_of(parameters, row->parameter);

	if (!value)
		return;
	switch (row->kind) {
	case OPTION_SWITCH:
	case OPTION_NOT:
		print_key(declaration, row->name, "yes");
		break;
	case OPTION_ON_OFF:
		print_key(declaration, row->name, json_object_get_boolean(value) ? "on" : "off");
		break;
	case OPTION_KEY:
		print_key(declaration, row->name, json_object_get_boolean(member_of(parameters, "anonymize_host")) ? "host" : "session");
		break;
	case OPTION_DURATION:
	case OPTION_DURATION_OFF:
		print_quantity(declaration, row->name, value, times, row->kind == OPTION_DURATION_OFF);
		break;
	case OPTION_SIZE:
	case OPTION_SIZE_OFF:
		print_quantity(declaration, row->name, value, sizes, row->kind == OPTION_SIZE_OFF);
		break;
	case OPTION_SAMPLE:
		if (!row->members)
			print_sample(declaration, row->name, value);
		break;
	case OPTION_TEXTS:
	case OPTION_NUMBERS:
	case OPTION_ITEM:
	case OPTION_PATHS:
		print_list(declaration, row->name, value);
		break;
	default:
		print_key(declaration, row->name, json_object_get_string(value));
	}
}

static void print_streams(struct declaration *declaration, struct json_object *streams)
{
	for (size_t i = 0; i < count_of(streams); i++)
		print_key(declaration, json_object_get_string(json_object_array_get_idx(streams, i)), "yes");
}

static void print_document(const char *name, const char *file)
{
	_cleanup_json_ struct json_object *document = json_object_new_object();

	json_object_object_add(document, "name", json_object_new_string(name));
	json_object_object_add(document, "file", json_object_new_string(file));
	print_json(document);
}

/* What a file cannot declare. */
static int check(const struct context *context, struct json_object *parameters, const char *name)
{
	if (!iotr_session_name_valid(name))
		return complain_usage_of(context, "name", "'%s' cannot be the name of a session: it has up to %d letters, digits, "
					 "'_', '.' and '-'", name, IOTR_SESSION_NAME_MAX);
	if (member_of(parameters, "pids") || member_of(parameters, "tree"))
		return complain_usage_of(context, "pids", "--pid: a file cannot declare it, as processes have other numbers "
					 "each time: use --command, --unit or --cgroup");
	return EXIT_DONE;
}

int print_declaration(struct context *context, struct json_object *parameters)
{
	const char *name = text_of(parameters, "name", IOTR_SESSION_NAME);
	static const struct option_group *const groups[] = { &filter_options, &limit_options, &output_options,
							     &memory_options, &trigger_options, &snapshot_options };
	struct declaration declaration = { 0 };
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int code = check(context, parameters, name);

	if (code != EXIT_DONE)
		return code;
	declaration.file = open_memstream(&text, &size);
	if (!declaration.file)
		return complain(NULL, "out of memory"), EXIT_FAILED;
	fprintf(declaration.file, "# /etc/iotracer/sessions.d/%s.session\n[Session]\n", name);
	print_streams(&declaration, member_of(parameters, "streams"));
	for (size_t group = 0; group < sizeof(groups) / sizeof(groups[0]); group++)
		for (size_t i = 0; i < groups[group]->count; i++)
			print_option(&declaration, &groups[group]->rows[i], parameters);
	fclose(declaration.file);
	if (declaration.wrong)
		return complain_usage(context, "--%s: a line of a file cannot hold this value", declaration.wrong);
	if (context->json)
		print_document(name, text);
	else
		fputs(text, stdout);
	return EXIT_DONE;
}

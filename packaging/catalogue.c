// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * catalogue schema|client|settings|messages|interface
 *
 * Prints what the tables of the sources say: streams, operations and columns; verbs and options of the client; settings
 * of the daemon; kinds of its messages; each as one JSON document, of which manual pages, completions, the journal's
 * catalogue and the installed configuration are made.
 * `interface` is the Varlink interface as the daemon describes it.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "anonymize.h"
#include "cleanup.h"
#include "command_line/options.h"
#include "config/config.h"
#include "control/methods.h"
#include "json_add.h"
#include "messages.def"
#include "protocol.h"
#include "schema.h"
#include "config/settings.def"
#include "verbs/verbs.h"

static struct json_object *columns_of(const struct iotr_column *columns, size_t count)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < count; i++) {
		struct json_object *column = json_object_new_object();

		add_string(column, "name", columns[i].name);
		add_string(column, "type", iotr_type_name(columns[i].type));
		add_string(column, "unit", *columns[i].unit ? columns[i].unit : NULL);
		add_string(column, "description", columns[i].doc);
		json_object_array_add(list, column);
	}
	return list;
}

static struct json_object *stream_of(const struct iotr_schema *schema)
{
	struct json_object *stream = json_object_new_object(), *operations = json_object_new_array();

	for (size_t i = 0; i < schema->operation_count; i++)
		json_object_array_add(operations, json_object_new_string(schema->operations[i]));
	add_string(stream, "name", schema->flag);
	add_string(stream, "folder", schema->folder);
	add_string(stream, "description", schema->doc);
	json_object_object_add(stream, "operations", operations);
	json_object_object_add(stream, "columns", columns_of(schema->columns, schema->column_count));
	return stream;
}

static struct json_object *snapshot_of(const struct iotr_snapshot_schema *schema)
{
	struct json_object *snapshot = json_object_new_object();

	add_string(snapshot, "folder", schema->folder);
	json_object_object_add(snapshot, "columns",
			       schema->columns ? columns_of(schema->columns, schema->column_count) : NULL);
	return snapshot;
}

static struct json_object *schema(void)
{
	struct json_object *document = json_object_new_object(), *streams = json_object_new_array();
	struct json_object *snapshots = json_object_new_array();

	for (size_t i = 0; i < IOTR_STREAM_COUNT; i++)
		json_object_array_add(streams, stream_of(&iotr_schemas[i]));
	for (size_t i = 0; i < IOTR_SNAPSHOT_SCHEMAS; i++)
		json_object_array_add(snapshots, snapshot_of(&iotr_snapshot_schemas[i]));
	add_string(document, "version", IOTRACER_VERSION);
	json_object_object_add(document, "streams", streams);
	json_object_object_add(document, "snapshots", snapshots);
	return document;
}

/* Names of the kinds that completion tells apart; all others take what nobody can foresee. */
static const char *const kinds[OPTION_KIND_COUNT] = {
	[OPTION_CHOICE] = "choice",
	[OPTION_TEXTS] = "texts",
	[OPTION_ON_OFF] = "choice",
	[OPTION_PATH] = "path",
	[OPTION_PATHS] = "path",
	[OPTION_SOCKET] = "path",
	[OPTION_SAMPLE] = "sample",
	[OPTION_CLEAR] = "clear",
	[OPTION_KEY] = "key",
};

static struct json_object *option_of(const struct option_row *row)
{
	struct json_object *option = json_object_new_object();
	char text[96];

	add_string(option, "name", row->name);
	add_string(option, "usage", options_describe(row, text, sizeof(text)));
	add_string(option, "kind", kinds[row->kind] ?: "other");
	add_string(option, "value", row->value);
	json_object_object_add(option, "optional", json_object_new_boolean(strchr(text, '[') != NULL));
	add_string(option, "parameter", row->parameter);
	add_string(option, "description", row->help);
	return option;
}

static struct json_object *group_of(const struct option_group *group)
{
	struct json_object *object = json_object_new_object(), *options = json_object_new_array();

	for (size_t i = 0; i < group->count; i++)
		json_object_array_add(options, option_of(&group->rows[i]));
	add_string(object, "title", group->title);
	json_object_object_add(object, "options", options);
	return object;
}

static struct json_object *verb_of(const struct verb *verb)
{
	struct json_object *object = json_object_new_object(), *groups = json_object_new_array();

	for (const struct option_group *const *group = verb->options; group && *group; group++)
		json_object_array_add(groups, group_of(*group));
	add_string(object, "name", verb->name);
	add_string(object, "heading", verb->group);
	add_string(object, "synopsis", verb->synopsis);
	add_string(object, "summary", verb->summary);
	json_object_object_add(object, "groups", groups);
	return object;
}

static struct json_object *client(void)
{
	struct json_object *document = json_object_new_object(), *list = json_object_new_array();

	for (const struct verb *const *verb = verbs; *verb; verb++)
		json_object_array_add(list, verb_of(*verb));
	json_object_object_add(document, "verbs", list);
	json_object_object_add(document, "global", group_of(&global_options));
	return document;
}

enum { CELLS_MAX = 5 };

/* A table as one object for each row, with its cells by the names of the columns. */
static struct json_object *objects_of(const char *const names[CELLS_MAX],
				      const char *const (*rows)[CELLS_MAX], size_t count)
{
	struct json_object *document = json_object_new_array();

	for (size_t i = 0; i < count; i++) {
		struct json_object *object = json_object_new_object();

		for (size_t j = 0; j < CELLS_MAX && names[j]; j++)
			add_string(object, names[j], rows[i][j]);
		json_object_array_add(document, object);
	}
	return document;
}

#define SETTING(section, key, parse, field, when, shown, doc) { #section, #key, shown, doc, #when },

static struct json_object *settings(void)
{
	static const char *const names[CELLS_MAX] = { "section", "key", "shown", "description", "when" };
	static const char *const rows[][CELLS_MAX] = { IOTR_SETTINGS(SETTING) };

	return objects_of(names, rows, sizeof(rows) / sizeof(rows[0]));
}

#define MESSAGE(kind, priority, id, subject, text) { #kind, #priority, id, subject, text },

static struct json_object *messages(void)
{
	static const char *const names[CELLS_MAX] = { "kind", "priority", "id", "subject", "description" };
	static const char *const rows[][CELLS_MAX] = { IOTR_MESSAGES(MESSAGE) };

	return objects_of(names, rows, sizeof(rows) / sizeof(rows[0]));
}

static int print(struct json_object *document)
{
	int flags = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE;

	puts(json_object_to_json_string_ext(document, flags));
	json_object_put(document);
	return fflush(stdout) || ferror(stdout);
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (!strcmp(what, "schema"))
		return print(schema());
	if (!strcmp(what, "client"))
		return print(client());
	if (!strcmp(what, "settings"))
		return print(settings());
	if (!strcmp(what, "messages"))
		return print(messages());
	if (!strcmp(what, "interface"))
		return fputs(io_iotracer_varlink, stdout) < 0 || fflush(stdout);
	fputs("usage: catalogue schema|client|settings|messages|interface\n", stderr);
	return EXIT_USAGE;
}

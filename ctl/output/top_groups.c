// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/top_groups.h"

#include <stdlib.h>
#include <string.h>

#include "output/json.h"
#include "output/table.h"
#include "output/text.h"
#include "units.h"

#define ITEMS(array) (sizeof(array) / sizeof((array)[0]))

static const char *const sorts[] = { "bytes", "rows", "latency" };
static const char *const bys[] = { NULL,   "process", "file",	   "directory",
				   "device", "unit",    "container", "operation" };

static size_t find(const char *const *names, size_t count, const char *name)
{
	size_t at = 0;

	while (at < count && names[at] != name && (!names[at] || !name || strcmp(names[at], name) != 0))
		at++;
	return at;
}

const char *top_sort_named(const char *name)
{
	size_t at = find(sorts, ITEMS(sorts), name);

	return at < ITEMS(sorts) ? sorts[at] : NULL;
}

const char *top_by_named(const char *name)
{
	size_t at = find(bys, ITEMS(bys), name);

	return at < ITEMS(bys) ? bys[at] : NULL;
}

const char *top_next_sort(const char *sort)
{
	return sorts[(find(sorts, ITEMS(sorts), sort) + 1) % ITEMS(sorts)];
}

const char *top_next_by(const char *by)
{
	return bys[(find(bys, ITEMS(bys), by) + 1) % ITEMS(bys)];
}

static uint64_t per_second(struct json_object *group, const char *key, uint64_t interval_ns)
{
	return (uint64_t)((double)number_of(group, key) * 1e9 / (double)(interval_ns ?: 1));
}

enum kind { ROWS, READ, WRITTEN, LATENCY, MAX, PROCESS, STREAM, COMMAND, OPERATION, PATH, NAME };

static const struct column {
	enum kind kind;
	const char *head;
	int width;	  /* of the narrowest screen that has it */
	const char *bys;  /* that have it, between spaces; "all" stands for NULL. NULL: each one */
} columns[] = {
	{ ROWS, "ROWS/S", 0, NULL },
	{ READ, "READ/S", 0, NULL },
	{ WRITTEN, "WRITTEN/S", 0, NULL },
	{ LATENCY, "LATENCY", 60, NULL },
	{ MAX, "MAX", 100, NULL },
	{ PROCESS, "PROCESS", 100, " all " },
	{ PROCESS, "PROCESS", 0, " process " },
	{ STREAM, "STREAM", 60, " process file directory device unit container " },
	{ COMMAND, "COMMAND", 60, " all " },
	{ COMMAND, "COMMAND", 0, " process " },
	{ OPERATION, "OPERATION", 80, " all " },
	{ OPERATION, "OPERATION", 0, " operation " },
	{ PATH, "FILE", 0, " all file " },
	{ PATH, "DIRECTORY", 0, " directory " },
	{ NAME, "DEVICE", 0, " device " },
	{ NAME, "UNIT", 0, " unit " },
	{ NAME, "CONTAINER", 0, " container " },
};

static bool has_column(const struct top_view *view, const struct column *column)
{
	char by[32];

	snprintf(by, sizeof(by), " %s ", view->by ?: "all");
	return (!column->bys || strstr(column->bys, by)) && (!view->width || view->width >= column->width);
}

static void add_duration(struct table *table, struct json_object *group, const char *key)
{
	char text[32];

	table_add(table, STYLE_PLAIN, "%s",
		  iotr_format_duration(text, sizeof(text), number_of(group, key)));
}

/* Disks that are made of others are apart: those below do the same again. */
static const char *stream_of(struct json_object *group)
{
	return member_of(group, "stacked") ? "stacked" : text_of(group, "stream", "");
}

static void add_cell(struct table *table, enum kind kind, struct json_object *group, uint64_t interval_ns)
{
	char text[32];

	switch (kind) {
	case ROWS:
		table_add(table, STYLE_PLAIN, "%s",
			  format_count(text, sizeof(text), per_second(group, "rows", interval_ns)));
		break;
	case READ:
	case WRITTEN:
		table_add(table, STYLE_PLAIN, "%s",
			  iotr_format_size(text, sizeof(text),
					   per_second(group, kind == READ ? "read_bytes" : "written_bytes", interval_ns)));
		break;
	case LATENCY:
		add_duration(table, group, "latency_ns");
		break;
	case MAX:
		add_duration(table, group, "latency_max_ns");
		break;
	case PROCESS:
		table_add(table, STYLE_PLAIN, "%llu", (unsigned long long)number_of(group, "pid"));
		break;
	case COMMAND:
		table_add(table, STYLE_PLAIN, "%s", text_of(group, "command", ""));
		break;
	case OPERATION:
		table_add(table, STYLE_PLAIN, "%s.%s", stream_of(group), text_of(group, "operation", ""));
		break;
	case STREAM:
		table_add(table, STYLE_PLAIN, "%s", stream_of(group));
		break;
	case PATH:
		table_add(table, STYLE_PLAIN, "%s", text_of(group, "path", ""));
		break;
	case NAME:
		table_add(table, STYLE_PLAIN, "%s", text_of(group, "name", "(none)"));
		break;
	}
}

/* Whether one of the group's names is filtered for. */
static bool passes(const struct top_view *view, struct json_object *group)
{
	static const char *const names[] = { "command", "operation", "stream", "path", "name", "pid" };

	for (size_t i = 0; i < ITEMS(names); i++)
		if (member_of(group, names[i]) && view->passes(text_of(group, names[i], ""), view->userdata))
			return true;
	return view->passes("", view->userdata);
}

static uint64_t weight(struct json_object *group, const char *sort)
{
	if (!strcmp(sort, "latency")) /* what all of them took, of which the mean is told */
		return number_of(group, "latency_ns") * number_of(group, "rows");
	if (!strcmp(sort, "bytes"))
		return number_of(group, "read_bytes") + number_of(group, "written_bytes");
	return number_of(group, sort);
}

static int compare(const void *left, const void *right, void *sort)
{
	uint64_t a = weight(*(struct json_object *const *)left, sort);
	uint64_t b = weight(*(struct json_object *const *)right, sort);

	return a < b ? 1 : a > b ? -1 : 0;
}

/* What the groups of a view are. */
static const char *names_of(const char *by)
{
	static const char *const names[ITEMS(bys)] = {
		"processes, operations and files", "processes", "files",      "directories",
		"devices",			   "units",	"containers", "operations",
	};

	return names[find(bys, ITEMS(bys), by)];
}

static void print_summary(const struct top_view *view, struct json_object *reply, FILE *stream)
{
	size_t told = count_of(member_of(reply, "top"));
	uint64_t groups = number_of(reply, "groups");
	char rows[32], shown[32];

	fprintf(stream, "%s rows a second, %s ",
		format_count(rows, sizeof(rows), per_second(reply, "rows", number_of(reply, "interval_ns"))),
		format_count(shown, sizeof(shown), groups));
	fputs(names_of(view->by), stream);
	if (!json_object_get_boolean(member_of(reply, "whole")))
		fputs(": more rows came than fit into memory; use filters", stream);
	else if (number_of(reply, "others"))
		fprintf(stream, "; %s rows are of others, for which there is no room",
			format_count(rows, sizeof(rows), number_of(reply, "others")));
	else if (view->width && told < groups)
		fprintf(stream, "; the %s greatest by %s", format_count(shown, sizeof(shown), told), view->sort);
	putc('\n', stream);
}

static void print_groups(const struct top_view *view, struct json_object *reply, struct json_object **groups,
			 size_t count, FILE *stream)
{
	struct table table = { .width = view->width };
	uint64_t interval_ns = number_of(reply, "interval_ns"), shown = 0;

	for (size_t i = 0; i < ITEMS(columns); i++)
		if (has_column(view, &columns[i])) {
			table.right |= (columns[i].kind <= PROCESS) << table.columns++;
			table_add(&table, STYLE_BOLD, "%s", columns[i].head);
		}
	for (size_t i = 0; i < count && shown < view->lines; i++) {
		if (!passes(view, groups[i]))
			continue;
		shown++;
		for (size_t j = 0; j < ITEMS(columns); j++)
			if (has_column(view, &columns[j]))
				add_cell(&table, columns[j].kind, groups[i], interval_ns);
	}
	table_print(&table, stream);
	table_done(&table);
}

size_t print_top(const struct top_view *view, struct json_object *reply, FILE *stream)
{
	struct json_object *array = member_of(reply, "top");
	size_t count = count_of(array);
	struct json_object **groups = reallocarray(NULL, count + 1, sizeof(struct json_object *));

	print_summary(view, reply, stream);
	if (!groups)
		return 0;
	for (size_t i = 0; i < count; i++)
		groups[i] = json_object_array_get_idx(array, i);
	qsort_r(groups, count, sizeof(groups[0]), compare, (void *)view->sort);
	print_groups(view, reply, groups, count, stream);
	free(groups);
	return 2;
}

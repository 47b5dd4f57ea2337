// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/look.h"

#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "escape.h"
#include "json_add.h"
#include "pipeline/clocks.h"
#include "pipeline/top.h"
#include "schema.h"
#include "session/memory_sink.h"
#include "session/row_names.h"

DEFINE_CLEANUP(struct recorder_view *, recorder_view_free);
DEFINE_CLEANUP(struct row_names *, row_names_free);
DEFINE_CLEANUP(struct top *, top_free);

/* What rows can be summed up by, and how the name of such a group is called in the reply. */
static const struct by {
	const char *name;
	unsigned int by;
	const char *text;
	enum row_name kind;
} bys[] = {
	{ NULL, TOP_BY_PROCESS | TOP_BY_OPERATION | TOP_BY_FILE, "path", ROW_NAME_DEVICE },
	{ "process", TOP_BY_PROCESS, "path", ROW_NAME_DEVICE },
	{ "operation", TOP_BY_OPERATION, "path", ROW_NAME_DEVICE },
	{ "file", TOP_BY_FILE, "path", ROW_NAME_DEVICE },
	{ "directory", TOP_BY_DIRECTORY, "path", ROW_NAME_DEVICE },
	{ "device", TOP_BY_NAME, "name", ROW_NAME_DEVICE },
	{ "unit", TOP_BY_NAME, "name", ROW_NAME_UNIT },
	{ "container", TOP_BY_NAME, "name", ROW_NAME_CONTAINER },
};

static const struct by *by_find(const char *name)
{
	for (size_t i = 1; name && i < sizeof(bys) / sizeof(bys[0]); i++)
		if (!strcmp(bys[i].name, name))
			return &bys[i];
	return name ? NULL : &bys[0];
}

const char *look_by(const char *name)
{
	const struct by *by = by_find(name);

	return by ? by->name : NULL;
}

static void describe_process(struct json_object *object, const struct top_group *group)
{
	char command[ESCAPE_MAX(IOTR_COMMAND_SIZE)];
	size_t length = escape_cell(group->command, strnlen(group->command, IOTR_COMMAND_SIZE),
				    command);

	add_u64(object, "pid", group->pid);
	json_object_object_add(object, "command",
			       json_object_new_string_len(command, (int)length));
}

static struct json_object *group_describe(const struct top_group *group, const struct by *by)
{
	struct json_object *object = json_object_new_object();

	if (by->by & TOP_BY_PROCESS)
		describe_process(object, group);
	add_string(object, "stream", iotr_schemas[group->stream].flag);
	if (group->stacked)
		add_flag(object, "stacked", true);
	if (by->by & TOP_BY_OPERATION)
		add_string(object, "operation", iotr_schemas[group->stream].operations[group->operation]);
	if (group->path_length)
		json_object_object_add(object, by->text,
				       json_object_new_string_len(group->path,
								  (int)group->path_length));
	add_u64(object, "rows", group->rows);
	add_u64(object, "read_bytes", group->read);
	add_u64(object, "written_bytes", group->written);
	add_u64(object, "latency_ns", group->latency_ns / group->rows);
	add_u64(object, "latency_max_ns", group->latency_max_ns);
	return object;
}

static struct json_object *describe(struct top *top, const struct by *by, enum top_order order, size_t most)
{
	struct json_object *object = json_object_new_object(), *array = json_object_new_array();
	const struct top_group *const *groups;
	size_t count = top_sort(top, order, &groups);

	add_u64(object, "rows", top_rows(top));
	add_u64(object, "others", top_others(top));
	add_u64(object, "groups", count);
	for (size_t i = 0; i < count && i < most; i++)
		json_object_array_add(array, group_describe(groups[i], by));
	json_object_object_add(object, "top", array);
	return object;
}

static const char *const order_names[] = { [TOP_ROWS] = "rows", [TOP_BYTES] = "bytes",
					    [TOP_LATENCY] = "latency" };

static enum top_order order_find(const char *name)
{
	enum top_order order = TOP_ROWS;

	while (order < TOP_ORDER_COUNT && strcmp(order_names[order], name) != 0)
		order++;
	return order;
}

const char *look_order(const char *name)
{
	enum top_order order = order_find(name);

	return order < TOP_ORDER_COUNT ? order_names[order] : NULL;
}

int look_at(struct session *session, const struct engine_look *look, uint64_t *since_ns, struct json_object **ret)
{
	_cleanup_(recorder_view_freep) struct recorder_view *view = NULL;
	_cleanup_(top_freep) struct top *top = NULL;
	_cleanup_(row_names_freep) struct row_names *names = NULL;
	const struct memory_sink *sink = memory_sink_of(session->sink);
	const struct by *by = by_find(look->by);
	struct recorder_memory memory;
	uint64_t now = clocks_mono_ns();
	struct row row;
	int r;

	if (!sink)
		return -ENOENT;
	r = row_names_new(by->kind, session->context->groups, &names);
	if (r >= 0)
		r = top_new(by->by, row_name, row_stacked, names, &top);
	if (r < 0)
		return r;
	consumer_drain(session->context->consumer);
	r = recorder_view_new(sink->recorder, *since_ns, &view);
	if (r < 0)
		return r;
	recorder_memory(sink->recorder, &memory);
	while (recorder_view_next(view, &row))
		if (recorder_end_ns(row.record) < now)
			top_add(top, &row);
	*ret = describe(top, by, order_find(look->order), look->count);
	add_u64(*ret, "interval_ns", now - *since_ns);
	add_flag(*ret, "whole", memory.reaches_ns <= *since_ns || !memory.overwritten);
	*since_ns = now;
	return 0;
}

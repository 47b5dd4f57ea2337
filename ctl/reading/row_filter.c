// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/row_filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "escape.h"
#include "output/json.h"

#define PIDS (1U << 22) /* the kernel's own limit */

static bool given(const struct row_filter *filter, enum iotr_spec_filter which)
{
	return filter->given >> which & 1;
}

/* ---- from words ---- */

static int add_escaped(char ***list, size_t *count, const char *text,
		       size_t (*escape)(const char *text, size_t length, char *out))
{
	size_t length = strlen(text);
	char **more = reallocarray(*list, *count + 1, sizeof(*more));
	char *escaped = malloc(ESCAPE_MAX(length) + 1);

	if (more)
		*list = more;
	if (!more || !escaped) {
		free(escaped);
		return -ENOMEM;
	}
	escaped[escape(text, length, escaped)] = '\0';
	(*list)[(*count)++] = escaped;
	return 0;
}

/* Appends the text as rows have it, also those of older traces, in which less is escaped. */
static int add_text(char ***list, size_t *count, const char *text)
{
	int r = add_escaped(list, count, text, escape_field);

	r = r < 0 ? r : add_escaped(list, count, text, escape_cell);
	return r < 0 ? r : add_escaped(list, count, text, escape_text);
}

static int add_number(uint32_t **list, size_t *count, uint32_t number)
{
	uint32_t *more = reallocarray(*list, *count + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	*list = more;
	(*list)[(*count)++] = number;
	return 0;
}

static int take_pid(struct row_filter *filter, struct json_object *value, char *message)
{
	uint64_t pid = json_object_get_uint64(value);

	if (!pid || pid > PIDS)
		return snprintf(message, FILTER_MESSAGE_SIZE, "it is not from 1 to %u", PIDS), -EINVAL;
	return add_number(&filter->pids, &filter->pid_count, (uint32_t)pid);
}

static int take_command(struct row_filter *filter, struct json_object *value, char *message)
{
	const char *name = json_object_get_string(value);
	int r = filter_value_command(name, message);

	return r < 0 ? r : add_text(&filter->commands, &filter->command_count, name);
}

static int take_uid(struct row_filter *filter, struct json_object *value, char *message)
{
	uint32_t uid = 0;
	int r = filter_value_user(json_object_get_string(value), &uid, message);

	return r < 0 ? r : add_number(&filter->uids, &filter->uid_count, uid);
}

static int take_cgroup(struct row_filter *filter, struct json_object *value, char *message)
{
	static const char mount[] = "/sys/fs/cgroup";
	const char *path = json_object_get_string(value);
	int r = filter_value_cgroup(path, message);
	_cleanup_free_ char *whole = NULL;

	if (r < 0)
		return r;
	if (!strncmp(path, mount, strlen(mount)) && (path[strlen(mount)] == '/' || !path[strlen(mount)]))
		path += strlen(mount);
	/* Without the slashes at its end, and with the one at its beginning. */
	if (asprintf(&whole, "%s%s", *path == '/' || !*path ? "" : "/", path) < 0)
		return -ENOMEM;
	for (size_t length = strlen(whole); length && whole[length - 1] == '/'; length--)
		whole[length - 1] = '\0';
	return add_text(&filter->cgroups, &filter->cgroup_count, whole);
}

static int take_unit(struct row_filter *filter, struct json_object *value, char *message)
{
	char unit[IOTR_UNIT_MAX + 1];
	int r = filter_value_unit(json_object_get_string(value), unit, message);

	return r < 0 ? r : add_text(&filter->units, &filter->unit_count, unit);
}

static int add_device(struct row_filter *filter, const char *format, uint32_t device)
{
	char number[32];

	snprintf(number, sizeof(number), format, device >> 20, device & 0xfffff);
	return add_escaped(&filter->devices, &filter->device_count, number, escape_text);
}

/* A disk by its path is known by its name, too, as its number may be another one now, or on this machine. */
static int take_device(struct row_filter *filter, struct json_object *value, char *message)
{
	const char *text = json_object_get_string(value);
	uint32_t device;
	int r = filter_value_device(text, &device, message);

	if (*text == '/' && text[1]) {
		int added = add_text(&filter->disks, &filter->disk_count, strrchr(text, '/') + 1);

		if (added < 0 || r < 0)
			return added;
	}
	if (r < 0)
		return r;
	r = add_device(filter, "%u:%03u", device);
	return r < 0 ? r : add_device(filter, "%u:%u", device); /* as traces before version 3 have it */
}

static int take_path(struct row_filter *filter, struct json_object *value, char *message)
{
	const char *path = json_object_get_string(value);
	int r = filter_value_path(path, message);
	_cleanup_free_ char *copy = NULL;

	if (r < 0)
		return r;
	copy = strdup(path);
	for (size_t length = copy ? strlen(copy) : 0; length && copy[length - 1] == '/'; length--)
		copy[length - 1] = '\0';
	return copy ? add_text(&filter->paths, &filter->path_count, copy) : -ENOMEM;
}

/* READ, or vfs.READ. */
static int take_operation(struct row_filter *filter, struct json_object *value, char *message)
{
	const char *text = json_object_get_string(value), *dot = strchr(text, '.'), *name = dot ? dot + 1 : text;
	bool found = false;

	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		const char *flag = iotr_schemas[stream].flag;
		int operation = iotr_operation_find((enum iotr_stream)stream, name);

		if (operation < 0 || (dot && (strlen(flag) != (size_t)(dot - text) || strncmp(flag, text, strlen(flag)))))
			continue;
		iotr_operations_add(&filter->operations[stream], (unsigned int)operation);
		found = true;
	}
	if (!found)
		snprintf(message, FILTER_MESSAGE_SIZE, "no stream has an operation '%.64s': 'iotracectl streams' lists them",
			 text);
	return found ? 0 : -EINVAL;
}

static int take_tree(struct row_filter *filter, struct json_object *value, char *message)
{
	(void)value;
	if (!filter->pid_count)
		return snprintf(message, FILTER_MESSAGE_SIZE,
				"it needs --pid, the processes whose descendants are followed"), -EINVAL;
	filter->descendants = calloc(PIDS / 8 + 1, 1);
	for (size_t i = 0; filter->descendants && i < filter->pid_count; i++)
		filter->descendants[filter->pids[i] / 8] |= (uint8_t)(1U << filter->pids[i] % 8);
	return filter->descendants ? 0 : -ENOMEM;
}

static int take_sample(struct row_filter *filter, struct json_object *value, char *message)
{
	json_object_object_foreach(value, flag, number)
	{
		int stream = iotr_stream_find(flag);
		uint64_t n = json_object_get_uint64(number);

		if (stream < 0 || !n || n > IOTR_SAMPLE_MAX)
			return snprintf(message, FILTER_MESSAGE_SIZE, "%s: N of one in N events is from 1 to %d", flag,
					IOTR_SAMPLE_MAX), -EINVAL;
		filter->sample[stream] = (uint32_t)n;
	}
	return 0;
}

static int take_min_latency(struct row_filter *filter, struct json_object *value, char *message)
{
	(void)message;
	filter->min_latency_ns = json_object_get_uint64(value);
	return 0;
}

static int take_min_size(struct row_filter *filter, struct json_object *value, char *message)
{
	(void)message;
	filter->min_size = json_object_get_uint64(value);
	return 0;
}

static int take_nothing(struct row_filter *filter, struct json_object *value, char *message)
{
	(void)filter, (void)value, (void)message;
	return 0;
}

/* By the filters of filters.def; a list's elements are taken one by one. */
static int (*const takers[IOTR_SPEC_FILTER_COUNT])(struct row_filter *, struct json_object *, char *) = {
	[IOTR_SPEC_PIDS] = take_pid,	   [IOTR_SPEC_TREE] = take_tree,
	[IOTR_SPEC_COMMANDS] = take_command, [IOTR_SPEC_UIDS] = take_uid,
	[IOTR_SPEC_CGROUPS] = take_cgroup,   [IOTR_SPEC_UNITS] = take_unit,
	[IOTR_SPEC_DEVICES] = take_device,   [IOTR_SPEC_PATHS] = take_path,
	[IOTR_SPEC_OPERATIONS] = take_operation, [IOTR_SPEC_MIN_LATENCY] = take_min_latency,
	[IOTR_SPEC_MIN_SIZE] = take_min_size, [IOTR_SPEC_ERRORS] = take_nothing,
	[IOTR_SPEC_SAMPLE] = take_sample,    [IOTR_SPEC_PSEUDO_FS] = take_nothing,
};

static int take(struct row_filter *filter, enum iotr_spec_filter which, struct json_object *value, char *message)
{
	size_t count = count_of(value);
	int r = 0;

	filter->given |= 1U << which;
	if (!json_object_is_type(value, json_type_array))
		return takers[which](filter, value, message);
	if (count > IOTR_FILTER_VALUES_MAX)
		return snprintf(message, FILTER_MESSAGE_SIZE, "%zu values are given, but the limit is %d", count,
				IOTR_FILTER_VALUES_MAX), -EINVAL;
	for (size_t i = 0; i < count && r >= 0; i++)
		r = takers[which](filter, json_object_array_get_idx(value, i), message);
	return r;
}

static uint32_t streams_of(struct json_object *list)
{
	uint32_t streams = 0;

	for (size_t i = 0; i < count_of(list); i++) {
		int stream = iotr_stream_find(json_object_get_string(json_object_array_get_idx(list, i)));

		streams |= stream < 0 ? 0 : 1U << stream;
	}
	return streams ?: UINT32_MAX;
}

int row_filter_init(struct row_filter *filter, struct json_object *parameters, const char **parameter,
		    char message[FILTER_MESSAGE_SIZE])
{
	int r = 0;

	*filter = (struct row_filter){ .streams = streams_of(member_of(parameters, "streams")),
				       .random = 88172645463325252 };
	strcpy(message, "out of memory");
	for (enum iotr_spec_filter which = 0; which < IOTR_SPEC_FILTER_COUNT && r >= 0; which++) {
		struct json_object *value = member_of(parameters, iotr_spec_filter_name(which));

		*parameter = iotr_spec_filter_name(which);
		if (value)
			r = take(filter, which, value, message);
	}
	return r < 0 ? -EINVAL : 0;
}

static void free_list(char **list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i]);
	free(list);
}

void row_filter_done(struct row_filter *filter)
{
	free(filter->pids);
	free(filter->uids);
	free(filter->descendants);
	free_list(filter->commands, filter->command_count);
	free_list(filter->cgroups, filter->cgroup_count);
	free_list(filter->units, filter->unit_count);
	free_list(filter->devices, filter->device_count);
	free_list(filter->disks, filter->disk_count);
	free_list(filter->paths, filter->path_count);
}

/* ---- rows ---- */

static bool is_in(char *const *list, size_t count, struct trace_text text)
{
	for (size_t i = 0; i < count; i++)
		if (trace_text_is(text, list[i]))
			return true;
	return false;
}

static bool has_number(const uint32_t *list, size_t count, struct trace_text text)
{
	uint64_t number;

	if (!trace_text_u64(text, &number))
		return false;
	for (size_t i = 0; i < count; i++)
		if (list[i] == number)
			return true;
	return false;
}

static bool is_descendant(struct row_filter *filter, const struct trace_rows *rows, const struct facts_columns *columns)
{
	uint64_t pid, ppid;

	if (!trace_text_u64(facts_cell(rows, columns->pid), &pid) || pid >= PIDS)
		return false;
	if (trace_text_u64(facts_cell(rows, columns->ppid), &ppid) && ppid < PIDS &&
	    filter->descendants[ppid / 8] >> ppid % 8 & 1)
		filter->descendants[pid / 8] |= (uint8_t)(1U << pid % 8);
	return filter->descendants[pid / 8] >> pid % 8 & 1;
}

static bool passes_process(struct row_filter *filter, const struct facts_columns *columns, const struct trace_rows *rows)
{
	if (filter->descendants)
		return is_descendant(filter, rows, columns);
	return has_number(filter->pids, filter->pid_count, facts_cell(rows, columns->pid));
}

/* Whether the path is that of the folder, or of what is below it. */
static bool lies_in(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	return !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

static bool has_component(const char *path, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = path; (at = strstr(at, name)); at++)
		if (at > path && at[-1] == '/' && (at[length] == '/' || !at[length]))
			return true;
	return false;
}

/* The cgroup of the row and those above it. */
static bool passes_cgroup(const struct row_filter *filter, struct trace_text id, const struct cgroup_names *names,
			  bool units)
{
	const struct cgroup_name *name = NULL;
	uint64_t number;

	if (trace_text_u64(id, &number))
		name = cgroup_names_find(names, number);
	for (size_t i = 0; name && !units && i < filter->cgroup_count; i++)
		if (lies_in(name->path, filter->cgroups[i]))
			return true;
	for (size_t i = 0; name && units && i < filter->unit_count; i++)
		if (has_component(name->path, filter->units[i]) || !strcmp(name->unit, filter->units[i]))
			return true;
	return false;
}

static bool passes_device(const struct row_filter *filter, const struct facts_columns *columns,
			  const struct trace_rows *rows)
{
	struct trace_text disk = facts_cell(rows, columns->disk);

	return is_in(filter->devices, filter->device_count, facts_cell(rows, columns->device)) ||
	       (disk.length && is_in(filter->disks, filter->disk_count, disk));
}

/* One name: the file, or what lies in the folder; also one that has no name any more. */
static bool name_lies_in(struct trace_text name, const char *folder)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(folder);

	if (name.length < length || memcmp(name.at, folder, length) != 0 || !name.length || *name.at != '/')
		return false;
	return name.length == length || name.at[length] == '/' ||
	       (name.length - length == strlen(deleted) && !memcmp(name.at + length, deleted, strlen(deleted)));
}

static bool passes_path(const struct row_filter *filter, struct trace_text filename)
{
	static const char arrow[] = " -> ";
	const char *second = memmem(filename.at, filename.length, arrow, strlen(arrow));
	struct trace_text first = filename, other = { "", 0 };

	if (second) {
		first.length = (size_t)(second - filename.at);
		other = (struct trace_text){ second + strlen(arrow), filename.length - first.length - strlen(arrow) };
	}
	for (size_t i = 0; i < filter->path_count; i++)
		if (name_lies_in(first, filter->paths[i]) || name_lies_in(other, filter->paths[i]))
			return true;
	return false;
}

static bool passes_operation(const struct row_filter *filter, enum iotr_stream stream, struct trace_text name)
{
	const struct iotr_schema *schema = &iotr_schemas[stream];

	for (unsigned int i = 0; i < schema->operation_count; i++)
		if (iotr_operations_have(&filter->operations[stream], i) && trace_text_is(name, schema->operations[i]))
			return true;
	return false;
}

static bool is_drawn(struct row_filter *filter, uint32_t one_in)
{
	filter->random ^= filter->random << 13;
	filter->random ^= filter->random >> 7;
	filter->random ^= filter->random << 17;
	return one_in < 2 || filter->random % one_in == 0;
}

/* The beginning of a timestamp stands for all that it may be the beginning of. */
static bool passes_time(const struct row_filter *filter, struct trace_text timestamp)
{
	size_t since = strlen(filter->since), until = strlen(filter->until);

	if (timestamp.length < since || timestamp.length < until)
		return false;
	return memcmp(timestamp.at, filter->since, since) >= 0 && memcmp(timestamp.at, filter->until, until) <= 0;
}

static bool passes_outcome(const struct row_filter *filter, const struct facts_columns *columns,
			   const struct trace_rows *rows)
{
	struct facts facts;

	facts_read(columns, rows, &facts);
	if (given(filter, IOTR_SPEC_ERRORS) && !facts.failed)
		return false;
	if (given(filter, IOTR_SPEC_MIN_LATENCY) && facts.latency_ns < filter->min_latency_ns)
		return false;
	return !given(filter, IOTR_SPEC_MIN_SIZE) || facts.asked >= filter->min_size;
}

bool row_filter_passes(struct row_filter *filter, const struct facts_columns *columns, const struct trace_rows *rows,
		       const struct cgroup_names *names)
{
	struct trace_text cgroup = facts_cell(rows, columns->cgroup_id);

	if ((*filter->since || *filter->until) && !passes_time(filter, facts_cell(rows, columns->timestamp)))
		return false;
	if (!filter->given)
		return true;
	return (!given(filter, IOTR_SPEC_PIDS) || passes_process(filter, columns, rows)) &&
	       (!given(filter, IOTR_SPEC_COMMANDS) ||
		is_in(filter->commands, filter->command_count, facts_cell(rows, columns->command))) &&
	       (!given(filter, IOTR_SPEC_UIDS) ||
		has_number(filter->uids, filter->uid_count, facts_cell(rows, columns->uid))) &&
	       (!given(filter, IOTR_SPEC_CGROUPS) || passes_cgroup(filter, cgroup, names, false)) &&
	       (!given(filter, IOTR_SPEC_UNITS) || passes_cgroup(filter, cgroup, names, true)) &&
	       (!given(filter, IOTR_SPEC_DEVICES) || passes_device(filter, columns, rows)) &&
	       (!given(filter, IOTR_SPEC_PATHS) || passes_path(filter, facts_cell(rows, columns->file))) &&
	       (!given(filter, IOTR_SPEC_OPERATIONS) ||
		passes_operation(filter, columns->stream, facts_cell(rows, columns->operation))) &&
	       passes_outcome(filter, columns, rows) && is_drawn(filter, filter->sample[columns->stream]);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "command_line/options.h"
#include "output/complain.h"
#include "output/json.h"
#include "output/streams.h"
#include "output/table.h"
#include "protocol.h"
#include "reading/trace_list.h"
#include "units.h"

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Time since it ended, or since it began when it has not ended. */
static uint64_t age_of(const struct listed_trace *trace)
{
	uint64_t from = trace->ended_ns ?: trace->started_ns, now = now_ns();

	return from && now > from ? now - from : 0;
}

static const char *state_of(const struct listed_trace *trace)
{
	return !trace->manifest ? "unreadable" : trace->running ? "running" : "ended";
}

/* ---- the list ---- */

static void add_line(struct table *table, const struct listed_trace *trace)
{
	uint64_t lost = session_lost(trace->manifest);
	char text[256];

	table_add(table, STYLE_PLAIN, "%s", trace->path);
	table_add(table, STYLE_PLAIN, "%s", listed_trace_kind(trace));
	table_add(table, trace->running ? STYLE_GOOD : STYLE_PLAIN, "%s", state_of(trace));
	table_add(table, STYLE_PLAIN, "%s", iotr_format_duration(text, sizeof(text), age_of(trace)));
	table_add(table, STYLE_PLAIN, "%s", iotr_format_size(text, sizeof(text), trace->bytes));
	table_add(table, STYLE_PLAIN, "%s", join_streams(trace->manifest, text, sizeof(text)));
	table_add(table, STYLE_PLAIN, "%s", format_count(text, sizeof(text), session_written(trace->manifest)));
	table_add(table, lost ? STYLE_BAD : STYLE_PLAIN, "%s", format_count(text, sizeof(text), lost));
}

static void print_list(const char *folder, const struct trace_list *list)
{
	static const char *const heads[] = { "TRACE", "KIND", "STATE", "AGE", "SIZE", "STREAMS", "ROWS", "LOST" };
	struct table table = { .columns = 8, .right = 0xd8 };
	uint64_t bytes = 0;
	char size[32];

	for (size_t i = 0; i < table.columns; i++)
		table_add(&table, STYLE_BOLD, "%s", heads[i]);
	for (size_t i = 0; i < list->count; i++) {
		add_line(&table, &list->traces[i]);
		bytes += list->traces[i].bytes;
	}
	if (list->count)
		table_print(&table, stdout);
	put_line(stdout, "%zu traces in %s, %s", list->count, folder, iotr_format_size(size, sizeof(size), bytes));
	table_done(&table);
}

static struct json_object *trace_object(const struct listed_trace *trace)
{
	struct json_object *object = json_object_new_object(), *names = json_object_new_array();
	struct json_object *streams = member_of(trace->manifest, "streams");

	json_object_object_add(object, "path", json_escaped(trace->path));
	json_object_object_add(object, "session", json_object_get(member_of(trace->manifest, "session")));
	json_object_object_add(object, "kind", json_object_new_string(listed_trace_kind(trace)));
	json_object_object_add(object, "state", json_object_new_string(state_of(trace)));
	json_object_object_add(object, "started", json_object_get(member_of(trace->manifest, "started")));
	json_object_object_add(object, "ended", json_object_get(member_of(trace->manifest, "ended")));
	json_object_object_add(object, "age_ns", json_object_new_uint64(age_of(trace)));
	json_object_object_add(object, "bytes", json_object_new_uint64(trace->bytes));
	if (json_object_is_type(streams, json_type_object)) {
		json_object_object_foreach(streams, flag, stream)
		{
			(void)stream;
			json_object_array_add(names, json_object_new_string(flag));
		}
	}
	json_object_object_add(object, "streams", names);
	json_object_object_add(object, "rows", json_object_new_uint64(session_written(trace->manifest)));
	json_object_object_add(object, "lost", json_object_new_uint64(session_lost(trace->manifest)));
	return object;
}

static void print_document(const char *folder, const struct trace_list *list, struct json_object *removed)
{
	_cleanup_json_ struct json_object *document = json_object_new_object();
	struct json_object *traces = json_object_new_array();

	for (size_t i = 0; i < list->count; i++)
		json_object_array_add(traces, trace_object(&list->traces[i]));
	json_object_object_add(document, "folder", json_escaped(folder));
	if (removed)
		json_object_object_add(document, "removed", json_object_get(removed));
	json_object_object_add(document, "traces", traces);
	print_json(document);
}

/* ---- removal ---- */

struct removal {
	const char *folder;
	int log_fd;
	struct trace_list list;
	struct json_object *removed; /* paths */
	uint64_t bytes;
	int code;
};

static void remove_one(struct removal *removal, const struct listed_trace *trace)
{
	int r = trace_list_remove(removal->log_fd, trace);

	if (r < 0) {
		complain(r == -EACCES || r == -EPERM ? "Root may remove it." : NULL, "%s/%s: %s", removal->folder,
			 trace->path, r == -EBUSY ? "it is running, or cannot be read: it is not removed" : strerror(-r));
		removal->code = r == -EACCES || r == -EPERM ? EXIT_DENIED : EXIT_FAILED;
		return;
	}
	json_object_array_add(removal->removed, json_escaped(trace->path));
	removal->bytes += trace->bytes;
}

/* The trace of that path: as it is listed, or the whole. NULL: none. */
static const struct listed_trace *find(const struct removal *removal, const char *path)
{
	size_t length = strlen(removal->folder);
	_cleanup_free_ char *copy = NULL;

	if (!strncmp(path, removal->folder, length) && path[length] == '/')
		path += length + strspn(path + length, "/");
	copy = strdup(path);
	for (size_t end = copy ? strlen(copy) : 0; end && copy[end - 1] == '/'; end--)
		copy[end - 1] = '\0';
	for (size_t i = 0; copy && i < removal->list.count; i++)
		if (!strcmp(removal->list.traces[i].path, copy))
			return &removal->list.traces[i];
	return NULL;
}

static void remove_named(struct removal *removal, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		const struct listed_trace *trace = find(removal, argv[i]);

		if (trace) {
			remove_one(removal, trace);
			continue;
		}
		complain("'iotracectl traces' lists them.", "there is no trace '%s' in %s", argv[i], removal->folder);
		removal->code = EXIT_FAILED;
	}
}

/* The oldest of those that have ended, until all are at most `size` together. */
static void vacuum_size(struct removal *removal, uint64_t size)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < removal->list.count; i++)
		sum += removal->list.traces[i].bytes;
	for (size_t i = 0; i < removal->list.count && sum - removal->bytes > size; i++)
		if (!removal->list.traces[i].running)
			remove_one(removal, &removal->list.traces[i]);
}

/* Those that ended so long ago. */
static void vacuum_time(struct removal *removal, uint64_t ns)
{
	for (size_t i = 0; i < removal->list.count; i++)
		if (!removal->list.traces[i].running && age_of(&removal->list.traces[i]) > ns)
			remove_one(removal, &removal->list.traces[i]);
}

static void read_again(struct removal *removal)
{
	trace_list_done(&removal->list);
	trace_list_read(removal->log_fd, &removal->list);
}

static void remove_all(struct removal *removal, struct json_object *parameters, int argc, char **argv)
{
	if (member_of(parameters, "remove"))
		remove_named(removal, argc, argv);
	if (member_of(parameters, "vacuum_time"))
		vacuum_time(removal, number_of(parameters, "vacuum_time"));
	if (member_of(parameters, "vacuum_size")) {
		read_again(removal);
		removal->bytes = 0;
		vacuum_size(removal, number_of(parameters, "vacuum_size"));
	}
	read_again(removal);
}

static bool removes(struct json_object *parameters)
{
	return member_of(parameters, "remove") || member_of(parameters, "vacuum_time") ||
	       member_of(parameters, "vacuum_size");
}

static void print_removed(const struct removal *removal)
{
	for (size_t i = 0; i < count_of(removal->removed); i++)
		put_line(stdout, "removed %s/%s", removal->folder,
			 json_object_get_string(json_object_array_get_idx(removal->removed, i)));
	if (!count_of(removal->removed))
		puts("nothing was removed");
}

static int check(const struct context *context, struct json_object *parameters, int argc)
{
	if (member_of(parameters, "remove") && !argc)
		return complain_usage(context, "--remove needs the traces to be removed: 'iotracectl traces' lists them");
	if (!member_of(parameters, "remove") && argc)
		return complain_usage(context, "traces are named with --remove alone");
	return EXIT_DONE;
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	struct removal removal = { .folder = text_of(parameters, "log_dir", IOTR_LOG_DIR) };
	_cleanup_json_ struct json_object *removed = json_object_new_array();
	_cleanup_close_ int log_fd = -1;
	int code = check(context, parameters, argc), r;

	if (code != EXIT_DONE)
		return code;
	log_fd = open(removal.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = log_fd < 0 ? -errno : trace_list_read(log_fd, &removal.list);
	if (r < 0) {
		complain("--log-dir names another folder.", "%s: %s", removal.folder, strerror(-r));
		trace_list_done(&removal.list);
		return r == -EACCES ? EXIT_DENIED : EXIT_FAILED;
	}
	removal.log_fd = log_fd;
	removal.removed = removed;
	if (removes(parameters))
		remove_all(&removal, parameters, argc, argv);
	if (context->json)
		print_document(removal.folder, &removal.list, removes(parameters) ? removed : NULL);
	else if (removes(parameters))
		print_removed(&removal);
	else
		print_list(removal.folder, &removal.list);
	trace_list_done(&removal.list);
	return removal.code;
}

static const struct option_row own_rows[] = {
	{ .name = "log-dir",
	  .kind = OPTION_PATH,
	  .parameter = "log_dir",
	  .value = "DIR",
	  .help = "folder below which they lie [" IOTR_LOG_DIR "]" },
	{ .name = "remove", .kind = OPTION_SWITCH, .parameter = "remove", .help = "remove those that are named" },
	{ .name = "vacuum-size",
	  .kind = OPTION_SIZE,
	  .parameter = "vacuum_size",
	  .value = "SIZE",
	  .help = "remove the oldest until all take at most so much" },
	{ .name = "vacuum-time",
	  .kind = OPTION_DURATION,
	  .parameter = "vacuum_time",
	  .value = "TIME",
	  .help = "remove those that ended longer ago, such as 14d" },
};
static const struct option_group own_options = OPTION_GROUP("Traces (one that runs is never removed)", own_rows);
static const struct option_group *const options[] = { &own_options, NULL };

const struct verb verb_traces = {
	.name = "traces",
	.run = run,
	.group = VERBS_TRACES,
	.synopsis = "[--remove TRACE...] [--vacuum-size SIZE] [--vacuum-time TIME]",
	.summary = "list the traces below the log folder, or remove old ones",
	.options = options,
	.arguments_max = -1,
};

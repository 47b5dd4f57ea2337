// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "command_line/session_options.h"
#include "export/fio.h"
#include "export/otf2.h"
#include "export/perfetto.h"
#include "output/complain.h"
#include "output/interrupt.h"
#include "output/json.h"
#include "output/new_file.h"
#include "output/new_folder.h"
#include "output/text.h"
#include "units.h"
#include "verbs/chosen.h"
#include "verbs/problems.h"

#define BIT(stream) (1U << (stream))

/* The library is optional when it is built. */
#ifdef HAVE_OTF2
#define OTF2_NEW otf2_new
#else
#define OTF2_NEW NULL
#endif

/* Those whose rows are something that a thread or a disk does for a while; what io_uring does is in others, too. */
#define PERFETTO_STREAMS \
	(BIT(IOTR_VFS) | BIT(IOTR_BLOCK) | BIT(IOTR_EPOLL) | BIT(IOTR_NET) | BIT(IOTR_CONN) | BIT(IOTR_PAGEFAULT))

/* A format, by its option. */
static const struct format {
	const char *option;
	const char *what;
	uint32_t streams; /* that it can have */
	bool one_stream;  /* of these one alone: both have the same bytes */
	/* It is a file, or a folder. */
	struct export_sink *(*begin)(const struct export_target *target);
	struct export_sink *(*begin_in)(const char *folder, struct json_object *manifest);
} formats[] = {
	{ "fio", "a log that fio replays", BIT(IOTR_VFS) | BIT(IOTR_BLOCK), true, fio_new, NULL },
	{ "perfetto", "a trace for Perfetto", PERFETTO_STREAMS, false, perfetto_new, NULL },
	{ "otf2", "an archive of OTF2", BIT(IOTR_VFS) | BIT(IOTR_BLOCK), false, NULL, OTF2_NEW },
};

enum { FORMAT_COUNT = sizeof(formats) / sizeof(formats[0]) };

static int take_format(const struct context *context, struct json_object *parameters, const struct format **ret)
{
	size_t given = 0;

	for (size_t i = 0; i < FORMAT_COUNT; i++)
		if (member_of(parameters, formats[i].option)) {
			*ret = &formats[i];
			given++;
		}
	if (given != 1)
		return complain_usage(context, given ? "give one format alone" : "give a format: --fio, --otf2 or --perfetto");
	if (member_of(parameters, "trim") && strcmp((*ret)->option, "fio"))
		return complain_usage_of(context, "trim", "--trim goes with --fio");
	if ((*ret)->begin || (*ret)->begin_in)
		return EXIT_DONE;
	complain("Build it where that library is installed.", "this iotracectl was built without the library for --%s",
		 (*ret)->option);
	return EXIT_FAILED;
}

/* Whether the trace has the stream. */
static bool has(const struct verify_trace *trace, enum iotr_stream stream)
{
	for (size_t i = 0; i < trace->stream_count; i++)
		if (iotr_stream_find(trace->streams[i].flag) == (int)stream)
			return true;
	return false;
}

/* Leaves in the filter the streams that the trace and the format have. Of several where one can be, the first is taken. */
static int take_streams(struct chosen *chosen, const struct format *format)
{
	uint32_t wanted = chosen->filter.streams & format->streams, found = 0;

	if (format->one_stream && member_of(chosen->parameters, "streams") && wanted & (wanted - 1))
		return complain_usage_of(chosen->context, "streams", "--%s: choose one of the streams: vfs or block",
					 format->option);
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (wanted & BIT(stream) && has(&chosen->traces[0], (enum iotr_stream)stream) &&
		    !(found && format->one_stream))
			found |= BIT(stream);
	chosen->filter.streams = found;
	if (found)
		return EXIT_DONE;
	complain(NULL, "%s: it has none of the streams that --%s can have", chosen->names[0], format->option);
	return EXIT_FAILED;
}

/* ---- rows ---- */

static int put_rows(struct merge *merge, struct export_reader *reader, struct export_sink *sink, uint64_t *rows)
{
	struct merged_row *merged;
	struct export_row row;
	int r = 0;

	while (!r && (merged = merge_next(merge, &r))) {
		export_reader_read(reader, merged, &row);
		r = interrupt_came() ? -EINTR : sink->row(sink, &row);
		free(merged);
		++*rows;
	}
	return r ? r : sink->end(sink);
}

static int put_all(struct chosen *chosen, struct export_sink *sink, uint64_t *rows)
{
	struct merge *merge = merge_new(chosen->traces, chosen->count, &chosen->filter, &chosen->report);
	struct export_reader *reader = export_reader_new();
	int r = merge && reader ? put_rows(merge, reader, sink, rows) : -ENOMEM;

	verify_progress_end(&chosen->report);
	export_reader_free(reader);
	if (merge)
		merge_free(merge);
	return r;
}

/* ---- what is said ---- */

static void print_written(struct json_object *operations)
{
	json_object_object_foreach(operations, name, one) {
		char rows[32], bytes[32];

		if (number_of(one, "rows"))
			printf("  %-8s  %s rows, %s\n", name, format_count(rows, sizeof(rows), number_of(one, "rows")),
			       iotr_format_size(bytes, sizeof(bytes), number_of(one, "bytes")));
	}
}

/* Files that have names of the log's own. */
static void print_named(struct json_object *document)
{
	const char *folder = text_of(document, "names", NULL);
	char files[32];

	if (!folder)
		return;
	printf("  names     %s files have names of the log's own in ", format_count(files, sizeof(files), number_of(document, "named")));
	put_text(stdout, folder);
	puts(", listed in names.csv there");
}

static void print_left_out(struct json_object *left_out)
{
	json_object_object_foreach(left_out, reason, count) {
		char rows[32];

		if (json_object_get_uint64(count))
			put_line(stderr, "iotracectl: left out: %s rows, %s",
				 format_count(rows, sizeof(rows), json_object_get_uint64(count)), reason);
	}
}

static void tell(const struct chosen *chosen, const struct format *format, const char *path, uint64_t rows, uint64_t size,
		 const struct export_sink *sink)
{
	_cleanup_json_ struct json_object *document = json_object_new_object();
	char count[32], bytes[32];

	json_object_object_add(document, "output", json_escaped(path));
	json_object_object_add(document, "format", json_object_new_string(format->option));
	json_object_object_add(document, "rows", json_object_new_uint64(rows));
	json_object_object_add(document, "bytes", json_object_new_uint64(size));
	sink->tell(sink, document);
	if (chosen->context->json) {
		print_json(document);
		return;
	}
	/* What was written to stdout is followed by nothing. */
	if (strcmp(path, "-")) {
		put_text(stdout, path);
		printf(": %s rows read, %s of %s\n", format_count(count, sizeof(count), rows),
		       iotr_format_size(bytes, sizeof(bytes), size), format->what);
		print_written(member_of(document, "operations"));
		print_named(document);
	}
	print_left_out(member_of(document, "left_out"));
}

static int complain_of(const char *path, int error, const struct export_sink *sink)
{
	if (error == -EEXIST)
		complain("Give another name.", "%s exists", path);
	else if (error == -EINTR)
		complain(NULL, "%s: interrupted, and removed", path);
	else if (sink && sink->message[0])
		complain(NULL, "%s: %s", path, sink->message);
	else
		complain(NULL, "%s: %s", strcmp(path, "-") ? path : "standard output", strerror(-error));
	/* It was told, so the end of the program need not try again. */
	if (!strcmp(path, "-")) {
		__fpurge(stdout);
		clearerr(stdout);
	}
	return EXIT_FAILED;
}

/* After an error, or when all was written. Frees the sink. */
static int finish(const struct chosen *chosen, const struct format *format, const char *path, uint64_t rows, uint64_t size,
		  struct export_sink *sink, int r)
{
	int code = complain_problems(&chosen->report); /* which may be why there is nothing to be written */

	if (r < 0)
		code = complain_of(path, r, sink);
	else
		tell(chosen, format, path, rows, size, sink);
	if (sink)
		sink->free(sink);
	return code;
}

static int export_file(struct chosen *chosen, const struct format *format, const char *path)
{
	struct export_sink *sink = NULL;
	struct new_file file;
	uint64_t rows = 0, size = 0;
	int r = new_file_open(&file, path, false);

	if (r >= 0) {
		const struct export_target target = { file.stream, path, member_of(chosen->parameters, "trim") != NULL };

		sink = format->begin(&target);
		r = sink ? put_all(chosen, sink, &rows) : -ENOMEM;
	}
	if (r >= 0)
		r = new_file_keep(&file, &size);
	if (sink)
		sink->kept = r >= 0;
	new_file_done(&file);
	return finish(chosen, format, path, rows, size, sink, r);
}

static int export_folder(struct chosen *chosen, const struct format *format, const char *path)
{
	struct export_sink *sink = NULL;
	struct new_folder folder;
	uint64_t rows = 0;
	int r = new_folder_open(&folder, path);

	if (r >= 0) {
		sink = format->begin_in(folder.temporary, chosen->traces[0].json);
		r = sink ? put_all(chosen, sink, &rows) : -ENOMEM;
	}
	if (r >= 0)
		r = new_folder_keep(&folder);
	new_folder_done(&folder);
	return finish(chosen, format, path, rows, new_folder_size(path), sink, r);
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	const struct format *format = NULL;
	struct chosen *chosen;
	int code = take_format(context, parameters, &format);

	(void)argc;
	if (code != EXIT_DONE)
		return code;
	if (!strcmp(argv[1], "-") && (context->json || !format->begin))
		return complain_usage_of(context, "output", format->begin ?
					 "with --json something else goes to stdout: name a file" : "it is a folder: name one");
	chosen = calloc(1, sizeof(*chosen));
	if (!chosen) {
		complain(NULL, "out of memory");
		return EXIT_FAILED;
	}
	/* A reader that goes away is told as an error, and what has begun is removed when somebody interrupts it. */
	signal(SIGPIPE, SIG_IGN);
	interrupt_catch();
	code = chosen_open(chosen, context, parameters, 1, argv);
	if (code == EXIT_DONE)
		code = take_streams(chosen, format);
	if (code == EXIT_DONE)
		code = format->begin ? export_file(chosen, format, argv[1]) : export_folder(chosen, format, argv[1]);
	chosen_done(chosen);
	free(chosen);
	return code;
}

static const struct option_row own_rows[] = {
	{ .name = "fio",
	  .kind = OPTION_SWITCH,
	  .parameter = "fio",
	  .help = "a log for fio --read_iolog: reads, writes and what is synchronised, of files, or of disks with --block" },
	{ .name = "otf2",
	  .kind = OPTION_SWITCH,
	  .parameter = "otf2",
	  .help = "a folder with an archive of the Open Trace Format 2: the same, of files by thread and of disks" },
	{ .name = "trim",
	  .kind = OPTION_SWITCH,
	  .parameter = "trim",
	  .help = "of --fio: what was discarded, too, for a fio later than 3.33, which does not replay that" },
	{ .name = "perfetto",
	  .kind = OPTION_SWITCH,
	  .parameter = "perfetto",
	  .help = "a trace for Perfetto: what each thread and disk does, over time, and which calls caused which requests" },
};
static const struct option_group own_options = OPTION_GROUP("Format", own_rows);
static const struct option_group *const options[] = {
	&own_options, &stream_options, &process_options, &filter_options, &span_options, NULL
};

const struct verb verb_export = {
	.name = "export",
	.run = run,
	.group = VERBS_TRACES,
	.synopsis = "DIR OUT --fio|--otf2|--perfetto [STREAMS] [FILTERS] [SPAN]",
	.summary = "write a trace in a format of other tools; OUT is new, of a file also - for stdout",
	.options = options,
	.arguments_min = 2,
	.arguments_max = 2,
};

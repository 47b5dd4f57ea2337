// SPDX-License-Identifier: GPL-2.0-or-later
#include "command_line/session_options.h"

#include <string.h>

#include "events.h"
#include "filters.def"
#include "session_options.def"

#define STREAM_ROW(id, name, folder, object, calls, names, part, process, file, latency, size, error, doc)                \
	{ #name, OPTION_STREAM, "streams", NULL, doc, NULL },

/* The streams of --network as text, with a comma before each. */
#define NETWORK(name) "," #name
#define STORAGE(name)
#define MEMBER(id, name, folder, object, calls, names, part, ...) part(name)

static const struct option_row stream_rows[] = {
	IOTR_STREAMS(STREAM_ROW)
	{ "network", OPTION_STREAMS, "streams", NULL, "all network streams", IOTR_STREAMS(MEMBER) },
	{ "all", OPTION_STREAMS, "streams", NULL, "all streams", NULL },
};

#define FILTER_ROW(id, name, kind, type, count, fact, word, of_all, option, reads, value, help, ...) \
	{ option, OPTION_##reads, #name, value, help, NULL },

static const struct option_row process_rows[] = { IOTR_PROCESS_FILTERS(FILTER_ROW) };

static const struct option_row filter_rows[] = {
	IOTR_OTHER_FILTERS(FILTER_ROW)
	{ "cache-sample-rate", OPTION_SAMPLE, "sample", "N", "the same as --sample cache=N", "cache" },
};

#define SESSION_ROW(option, kind, parameter, value, help) { option, OPTION_##kind, parameter, value, help, NULL },

static const struct option_row limit_rows[] = { IOTR_LIMIT_OPTIONS(SESSION_ROW) };
static const struct option_row output_rows[] = { IOTR_OUTPUT_OPTIONS(SESSION_ROW) };
static const struct option_row memory_rows[] = { IOTR_MEMORY_OPTIONS(SESSION_ROW) };
static const struct option_row trigger_rows[] = { IOTR_TRIGGER_OPTIONS(SESSION_ROW) };
static const struct option_row snapshot_rows[] = { IOTR_SNAPSHOT_OPTIONS(SESSION_ROW) };

const struct option_group stream_options = OPTION_GROUP("Streams", stream_rows);
const struct option_group process_options = OPTION_GROUP("Processes", process_rows);
const struct option_group filter_options = OPTION_GROUP("Filters (a row must pass all of them)", filter_rows);
const struct option_group limit_options = OPTION_GROUP("Limits", limit_rows);
const struct option_group output_options = OPTION_GROUP("Files", output_rows);
const struct option_group memory_options = OPTION_GROUP("Instead of files", memory_rows);
const struct option_group trigger_options = OPTION_GROUP("Triggers (what they see is in iotracer.session(5))", trigger_rows);
const struct option_group snapshot_options = OPTION_GROUP("Snapshots", snapshot_rows);

static const struct option_row *filter_row(size_t number)
{
	static const struct option_group *const groups[] = { &process_options, &filter_options };

	for (size_t group = 0; group < sizeof(groups) / sizeof(groups[0]); group++) {
		if (number < groups[group]->count)
			return &groups[group]->rows[number];
		number -= groups[group]->count;
	}
	return NULL;
}

const char *filter_option(size_t number)
{
	const struct option_row *row = filter_row(number);

	return row ? row->name : NULL;
}

const char *filter_parameter(const char *option)
{
	const struct option_row *row;

	for (size_t i = 0; (row = filter_row(i)); i++)
		if (!strcmp(row->name, option))
			return row->parameter;
	return NULL;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "command_line/session_options.h"

#include <string.h>

#include "events.h"
#include "filters.def"

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

static const struct option_row limit_rows[] = {
	{ "duration", OPTION_DURATION, "duration_ns", "TIME", "end after this time, such as 30s",
	  NULL },
	{ "max-size", OPTION_SIZE, "max_size", "SIZE", "end before the files exceed this size, such as 2G",
	  NULL },
	{ "max-events", OPTION_COUNT, "max_events", "N", "end after this number of rows", NULL },
};

static const struct option_row output_rows[] = {
	{ "output", OPTION_PATH, "output", "DIR", "folder for the files, empty or new", NULL },
	{ "format", OPTION_CHOICE, "format", "csv|jsonl", "format of the files [csv]", NULL },
	{ "anonymize", OPTION_KEY, "anonymize", "session|host",
	  "hash names and addresses, with a key of the session's own or the host's [session]", NULL },
	{ "rotate-size", OPTION_SIZE_OFF, "rotate_size", "SIZE|off",
	  "rotate a file before it exceeds this size [128M]", NULL },
	{ "rotate-interval", OPTION_DURATION_OFF, "rotate_interval_ns", "TIME|off",
	  "rotate files at this interval [1d]", NULL },
	{ "compress", OPTION_CHOICE, "compress", "gzip|none", "compression of closed files [gzip]", NULL },
	{ "keep-segments", OPTION_COUNT, "keep_segments", "N",
	  "keep only the last N closed files of each stream", NULL },
	{ "keep-size", OPTION_SIZE, "keep_size", "SIZE",
	  "keep only the last files, up to this size in all, such as 10G", NULL },
	{ "queue-size", OPTION_SIZE, "queue_size", "SIZE",
	  "memory for rows that wait for the disk, from 1M to 256M [as the daemon is configured]", NULL },
};

static const struct option_row memory_rows[] = {
	{ "flight-recorder", OPTION_SIZE, "flight_recorder", "SIZE",
	  "keep the last rows in so much memory, such as 256M, until dump writes them", NULL },
};

static const struct option_row snapshot_rows[] = {
	{ "no-snapshots", OPTION_NOT, "snapshots", NULL, "take none but those asked for here", NULL },
	{ "snapshot-system", OPTION_ON_OFF, "snapshot_system", "on|off", "of the machine, when the session starts",
	  NULL },
	{ "snapshot-process", OPTION_DURATION_OFF, "snapshot_process_ns", "TIME|off",
	  "of processes, when the session starts and then at this interval", NULL },
	{ "snapshot-filesystem", OPTION_DURATION_OFF, "snapshot_filesystem_ns", "TIME|off",
	  "of files, the same way", NULL },
	{ "snapshot-root", OPTION_PATH, "snapshot_root", "DIR", "folder where the snapshot of files begins", NULL },
	{ "snapshot-depth", OPTION_NUMBER, "snapshot_depth", "N", "number of levels below it that are read",
	  NULL },
};

const struct option_group stream_options = OPTION_GROUP("Streams", stream_rows);
const struct option_group process_options = OPTION_GROUP("Processes", process_rows);
const struct option_group filter_options = OPTION_GROUP("Filters (a row must pass all of them)", filter_rows);
const struct option_group limit_options = OPTION_GROUP("Limits", limit_rows);
const struct option_group output_options = OPTION_GROUP("Files", output_rows);
const struct option_group memory_options = OPTION_GROUP("Instead of files", memory_rows);
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

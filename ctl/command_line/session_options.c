// SPDX-License-Identifier: GPL-2.0-or-later
#include "command_line/session_options.h"

#include <string.h>

#include "events.h"

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

static const struct option_row process_rows[] = {
	{ "pid", OPTION_NUMBERS, "pids", "N,...", "these processes", NULL },
	{ "tree", OPTION_SWITCH, "tree", NULL, "and their descendants", NULL },
};

static const struct option_row filter_rows[] = {
	{ "command", OPTION_TEXTS, "commands", "NAME,...", "threads of these command names", NULL },
	{ "uid", OPTION_TEXTS, "uids", "N|USER,...", "these users", NULL },
	{ "cgroup", OPTION_ITEM, "cgroups", "PATH", "processes of this cgroup and those below", NULL },
	{ "unit", OPTION_ITEM, "units", "NAME", "processes of this systemd unit", NULL },
	{ "device", OPTION_TEXTS, "devices", "M:N|/dev/NAME,...", "these file systems or disks",
	  NULL },
	{ "path", OPTION_PATHS, "paths", "PREFIX", "this file, or what is in this folder", NULL },
	{ "operation", OPTION_TEXTS, "operations", "OP,...", "READ, or vfs.READ for one stream's",
	  NULL },
	{ "min-latency", OPTION_DURATION, "min_latency_ns", "TIME", "what took as long, as in 5ms",
	  NULL },
	{ "min-size", OPTION_SIZE, "min_size", "SIZE", "what is as large, as in 64K", NULL },
	{ "errors", OPTION_SWITCH, "errors", NULL, "what failed", NULL },
	{ "sample", OPTION_SAMPLE, "sample", "STREAM=N", "one in N events of a stream", NULL },
	{ "cache-sample-rate", OPTION_SAMPLE, "sample", "N", "the same as --sample cache=N", "cache" },
	{ "pseudo-fs", OPTION_SWITCH, "pseudo_fs", NULL, "pseudo file systems too", NULL },
};

static const struct option_row limit_rows[] = {
	{ "duration", OPTION_DURATION, "duration_ns", "TIME", "end after so long, as in 30s",
	  NULL },
	{ "max-size", OPTION_SIZE, "max_size", "SIZE", "end before the files hold more, as in 2G",
	  NULL },
	{ "max-events", OPTION_COUNT, "max_events", "N", "end after so many rows", NULL },
};

static const struct option_row output_rows[] = {
	{ "output", OPTION_PATH, "output", "DIR", "folder for the files, empty or new", NULL },
	{ "format", OPTION_CHOICE, "format", "csv|jsonl", "of the files [csv]", NULL },
	{ "anonymize", OPTION_KEY, "anonymize", "session|host", "names and addresses as hashes, by a key of its own or the host's", NULL },
	{ "rotate-size", OPTION_SIZE_OFF, "rotate_size", "SIZE|off",
	  "begin new files before one is larger [128M]", NULL },
	{ "rotate-interval", OPTION_DURATION_OFF, "rotate_interval_ns", "TIME|off",
	  "begin new files so often [1d]", NULL },
	{ "compress", OPTION_CHOICE, "compress", "gzip|none", "closed files [gzip]", NULL },
	{ "keep-segments", OPTION_COUNT, "keep_segments", "N",
	  "of each stream, keep the last N closed files", NULL },
	{ "keep-size", OPTION_SIZE, "keep_size", "SIZE",
	  "of all files, keep the last so many bytes, as in 10G", NULL },
};

static const struct option_row memory_rows[] = {
	{ "flight-recorder", OPTION_SIZE, "flight_recorder", "SIZE",
	  "keep the last rows in memory, for dump, as in 256M", NULL },
};

static const struct option_row snapshot_rows[] = {
	{ "no-snapshots", OPTION_NOT, "snapshots", NULL, "none but those asked for here", NULL },
	{ "snapshot-system", OPTION_ON_OFF, "snapshot_system", "on|off", "of the machine, at the start",
	  NULL },
	{ "snapshot-process", OPTION_DURATION_OFF, "snapshot_process_ns", "TIME|off",
	  "of processes, at the start and so far apart", NULL },
	{ "snapshot-filesystem", OPTION_DURATION_OFF, "snapshot_filesystem_ns", "TIME|off",
	  "of files, likewise", NULL },
	{ "snapshot-root", OPTION_PATH, "snapshot_root", "DIR", "files: from there on", NULL },
	{ "snapshot-depth", OPTION_NUMBER, "snapshot_depth", "N", "files: so many levels below it",
	  NULL },
};

const struct option_group stream_options = OPTION_GROUP("Streams", stream_rows);
const struct option_group process_options = OPTION_GROUP("Processes", process_rows);
const struct option_group filter_options = OPTION_GROUP("Filters (all must pass)", filter_rows);
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

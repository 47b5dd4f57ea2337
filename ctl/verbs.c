// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of verbs, and the options that only one of them has. */
#include "verb.h"

#include <string.h>

#include "anonymize_key.h"
#include "nearest.h"
#include "session_options.h"

static const struct option_row all_row[] = {
	{ .name = "all", .kind = OPTION_SWITCH, .parameter = "all", .help = "every session" },
};
static const struct option_group all_option = { "Sessions", all_row, 1 };

static const struct option_row name_row[] = {
	{ .name = "name",
	  .kind = OPTION_TEXT,
	  .parameter = "name",
	  .value = "NAME",
	  .help = "of the session [record-PID]" },
};
static const struct option_group name_option = { "Session", name_row, 1 };

static const struct option_row tail_row[] = {
	{ .name = "stream",
	  .kind = OPTION_TEXTS,
	  .parameter = "streams",
	  .value = "STREAM,...",
	  .help = "rows of these streams alone" },
};
static const struct option_group tail_option = { "Rows", tail_row, 1 };

static const struct option_row clear_row[] = {
	{ .name = "clear",
	  .kind = OPTION_CLEAR,
	  .parameter = "clear",
	  .value = "FILTER,...",
	  .help = "take these filters away, as in pid,min-size" },
};
static const struct option_group clear_option = { "Changes (filters not named stay)", clear_row, 1 };

static const struct option_row snapshot_rows[] = {
	{ .name = "root",
	  .kind = OPTION_PATH,
	  .parameter = "root",
	  .value = "DIR",
	  .help = "files: from there on [/]" },
	{ .name = "depth",
	  .kind = OPTION_NUMBER,
	  .parameter = "depth",
	  .value = "N",
	  .help = "files: so many levels below it [3]" },
	{ .name = "output",
	  .kind = OPTION_PATH,
	  .parameter = "output",
	  .value = "DIR",
	  .help = "folder for the files, empty or new" },
	{ .name = "anonymize",
	  .kind = OPTION_KEY,
	  .parameter = "anonymize",
	  .value = "session|host",
	  .help = "names as hashes, by a key of their own or the host's" },
};
static const struct option_group snapshot_option = { "Snapshot", snapshot_rows, 4 };

static const struct option_row strict_row[] = {
	{ .name = "strict",
	  .kind = OPTION_SWITCH,
	  .parameter = "strict",
	  .help = "fails also where rows were removed, names lost, hooks missing, programs left out" },
};
static const struct option_group strict_option = { "Judgement", strict_row, 1 };

static const struct option_row key_row[] = {
	{ .name = "key",
	  .kind = OPTION_PATH,
	  .parameter = "key",
	  .value = "FILE",
	  .help = "by this key, as " IOTR_ANONYMIZE_KEY_PATH ", and not by a new one" },
};
static const struct option_group key_option = { "Key", key_row, 1 };

static const struct option_row watch_row[] = {
	{ .name = "watch",
	  .kind = OPTION_INTERVAL,
	  .value = "TIME",
	  .help = "again each so often [1s], until Ctrl-C" },
};
static const struct option_group watch_option = { "Live", watch_row, 1 };

static const struct option_row dump_rows[] = {
	{ .name = "last",
	  .kind = OPTION_DURATION,
	  .parameter = "last_ns",
	  .value = "TIME",
	  .help = "what ended in that time, as in 60s [all that is kept]" },
	{ .name = "output",
	  .kind = OPTION_PATH,
	  .parameter = "output",
	  .value = "DIR",
	  .help = "folder for the files, empty or new" },
};
static const struct option_group dump_options = { "Dump", dump_rows, 2 };

static const struct option_row top_rows[] = {
	{ .name = "interval",
	  .kind = OPTION_DURATION,
	  .parameter = "interval_ns",
	  .value = "TIME",
	  .help = "between two looks [1s]" },
	{ .name = "sort",
	  .kind = OPTION_CHOICE,
	  .parameter = "sort",
	  .value = "rows|bytes|latency",
	  .help = "the greatest of these first [bytes]" },
	{ .name = "lines",
	  .kind = OPTION_NUMBER,
	  .parameter = "count",
	  .value = "N",
	  .help = "at most [20]" },
};
static const struct option_group top_options = { "View", top_rows, 3 };

/* The group of the streams is made at run time and comes first. */
static const struct option_group *start_groups[] = { NULL, &process_options, &filter_options,
						     &limit_options, &output_options, &memory_options,
						     &snapshot_options, NULL };
static const struct option_group *record_groups[] = { NULL, &name_option, &filter_options,
						      &limit_options, &output_options,
						      &snapshot_options, NULL };
static const struct option_group *top_groups[] = { NULL, &process_options, &filter_options,
						   &top_options, NULL };
static const struct option_group *const set_groups[] = { &clear_option, &process_options,
							 &filter_options, NULL };
static const struct option_group *const stop_groups[] = { &all_option, NULL };
static const struct option_group *const status_groups[] = { &watch_option, NULL };
static const struct option_group *const dump_groups[] = { &dump_options, NULL };
static const struct option_group *const tail_groups[] = { &tail_option, NULL };
static const struct option_group *const snapshot_groups[] = { &snapshot_option, NULL };
static const struct option_group *const verify_groups[] = { &strict_option, NULL };
static const struct option_group *const anonymize_groups[] = { &key_option, NULL };

/* Groups of verbs in the help; verbs of one group are adjacent in the table. */
#define SESSIONS "Sessions"
#define LOOK	 "What happens now"
#define TRACES	 "Traces that were taken"
#define MACHINE	 "Daemon and machine"

const struct verb verbs[] = {
	{ .name = "start",
	  .run = verb_start,
	  .group = SESSIONS,
	  .synopsis = "[NAME] STREAMS [FILTERS] [LIMITS] [FILES]",
	  .summary = "begin a session; without a name it is 'default'",
	  .groups = start_groups,
	  .arguments_max = 1 },
	{ .name = "stop",
	  .run = verb_stop,
	  .group = SESSIONS,
	  .synopsis = "NAME | --all",
	  .summary = "end sessions; their files are then complete",
	  .groups = stop_groups,
	  .arguments_max = 1 },
	{ .name = "record",
	  .run = verb_record,
	  .group = SESSIONS,
	  .synopsis = "STREAMS [FILTERS] [LIMITS] [FILES] -- COMMAND [ARGUMENT...]",
	  .summary = "record a command and its descendants until it ends",
	  .groups = record_groups,
	  .arguments_min = 1,
	  .arguments_max = -1,
	  .ends_options_early = true },
	{ .name = "list",
	  .run = verb_list,
	  .group = SESSIONS,
	  .synopsis = "",
	  .summary = "show the sessions" },
	{ .name = "status",
	  .run = verb_status,
	  .group = SESSIONS,
	  .synopsis = "[NAME] [--watch[=TIME]]",
	  .summary = "show what sessions wrote, lost and cost",
	  .groups = status_groups,
	  .arguments_max = 1 },
	{ .name = "set",
	  .run = verb_set,
	  .group = SESSIONS,
	  .synopsis = "NAME FILTERS",
	  .summary = "change filters of a session that runs",
	  .groups = set_groups,
	  .arguments_min = 1,
	  .arguments_max = 1 },
	{ .name = "rotate",
	  .run = verb_rotate,
	  .group = SESSIONS,
	  .synopsis = "[NAME]",
	  .summary = "close the files of a session, or of all, and begin new ones",
	  .arguments_max = 1 },
	{ .name = "dump",
	  .run = verb_dump,
	  .group = SESSIONS,
	  .synopsis = "NAME [--last TIME] [--output DIR]",
	  .summary = "write what a flight recorder holds to files",
	  .groups = dump_groups,
	  .arguments_min = 1,
	  .arguments_max = 1 },
	{ .name = "tail",
	  .run = verb_tail,
	  .group = LOOK,
	  .synopsis = "[NAME] [--stream STREAM,...]",
	  .summary = "show rows as they are written, of NAME or the one session that runs",
	  .groups = tail_groups,
	  .arguments_max = 1 },
	{ .name = "top",
	  .run = verb_top,
	  .group = LOOK,
	  .synopsis = "[STREAMS] [FILTERS]",
	  .summary = "show which processes do what to which files, until Ctrl-C",
	  .groups = top_groups },
	{ .name = "snapshot",
	  .run = verb_snapshot,
	  .group = LOOK,
	  .synopsis = "[system|process|filesystem|all] [NAME] [--root DIR] [--depth N] [--output DIR] [--anonymize]",
	  .summary = "tell of the machine, its processes and its files as they are now",
	  .groups = snapshot_groups,
	  .arguments_max = 2 },
	{ .name = "verify",
	  .run = verb_verify,
	  .group = TRACES,
	  .synopsis = "DIR [--strict]",
	  .summary = "check that no row of a session, or file of snapshots, is missing or wrong",
	  .groups = verify_groups,
	  .arguments_min = 1,
	  .arguments_max = 1 },
	{ .name = "anonymize",
	  .run = verb_anonymize,
	  .group = TRACES,
	  .synopsis = "DIR OUT [--key FILE]",
	  .summary = "write a trace anew with names and addresses as keyed hashes",
	  .groups = anonymize_groups,
	  .arguments_min = 2,
	  .arguments_max = 2 },
	{ .name = "streams",
	  .run = verb_streams,
	  .group = MACHINE,
	  .synopsis = "",
	  .summary = "show what can be recorded, and through which hooks" },
	{ .name = "doctor",
	  .run = verb_doctor,
	  .group = MACHINE,
	  .synopsis = "",
	  .summary = "show what this kernel lets the daemon do, and try it" },
	{ .name = "reload",
	  .run = verb_reload,
	  .group = MACHINE,
	  .synopsis = "",
	  .summary = "have the daemon read its configuration anew" },
	{ .name = "help",
	  .run = verb_help,
	  .group = MACHINE,
	  .synopsis = "[VERB]",
	  .summary = "show what there is, or what a verb takes",
	  .arguments_max = 1 },
	{ .name = "version",
	  .run = verb_version,
	  .group = MACHINE,
	  .synopsis = "",
	  .summary = "show the versions of client and daemon" },
};

const size_t verb_count = sizeof(verbs) / sizeof(verbs[0]);

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < verb_count; i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

int verb_unknown(const struct context *context, const char *name)
{
	struct iotr_nearest nearest = { .word = name };

	for (size_t i = 0; i < verb_count; i++)
		iotr_nearest_try(&nearest, verbs[i].name);
	if (nearest.best)
		return complain_usage_of(context, "verb", "there is no verb '%s': did you mean '%s'?",
					 name, nearest.best);
	return complain_usage_of(context, "verb",
				 "there is no verb '%s': 'iotracectl help' shows them", name);
}

void verbs_prepare(void)
{
	start_groups[0] = stream_options();
	record_groups[0] = stream_options();
	top_groups[0] = stream_options();
}

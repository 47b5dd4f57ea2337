// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <string.h>

#include "cleanup.h"
#include "command_line/options.h"
#include "output/complain.h"
#include "output/json.h"
#include "reading/summary_print.h"
#include "verify/counts.h"
#include "verify/manifest.h"
#include "verify/verify.h"

enum { TOP_DEFAULT = 5, TOP_MOST = 10000 };

/* A manifest that cannot be read ends everything. */
static int complain_of(const char *path, const struct verify_report *report)
{
	struct json_object *first = count_of(report->lists[VERIFY_WRONG]) ?
					    json_object_array_get_idx(report->lists[VERIFY_WRONG], 0) : NULL;

	complain("Give the folder of a trace, the one with manifest.json.", "%s/%s: %s", path,
		 text_of(first, "file", MANIFEST_NAME), text_of(first, "what", "it cannot be read"));
	return EXIT_FAILED;
}

static int sum_up(const struct context *context, const char *path, struct verify_trace *trace,
		  struct verify_report *report, size_t most)
{
	struct summary *summary = calloc(1, sizeof(*summary));
	int r = summary ? summary_read(summary, trace, report) : -1;

	if (r < 0)
		complain(NULL, "%s: out of memory", path);
	else if (context->json)
		summary_print_json(path, summary, trace, report, most);
	else
		summary_print(summary, trace, report, most);
	if (summary)
		summary_done(summary);
	free(summary);
	return r < 0 || report->counts[VERIFY_WRONG] ? EXIT_FAILED : EXIT_DONE;
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_close_ int folder = verify_open(argv[0]);
	struct verify_trace trace = { .folder_fd = folder };
	size_t most = member_of(parameters, "top") ? number_of(parameters, "top") : TOP_DEFAULT;
	struct verify_report report;
	int code;

	(void)argc;
	if (folder < 0)
		return EXIT_FAILED;
	verify_report_init(&report, true, false);
	if (verify_manifest_read(&trace, &report)) {
		verify_counts(&trace, &report);
		code = sum_up(context, argv[0], &trace, &report, most < TOP_MOST ? most : TOP_MOST);
	} else {
		code = complain_of(argv[0], &report);
	}
	verify_report_done(&report);
	verify_trace_done(&trace);
	return code;
}

static const struct option_row own_rows[] = {
	{ .name = "top",
	  .kind = OPTION_NUMBER,
	  .parameter = "top",
	  .value = "N",
	  .help = "show so many files, processes, units, devices and peers [5]" },
};
static const struct option_group own_options = OPTION_GROUP("View", own_rows);
static const struct option_group *const options[] = { &own_options, NULL };

const struct verb verb_summary = {
	.name = "summary",
	.run = run,
	.group = VERBS_TRACES,
	.synopsis = "DIR [--top N]",
	.summary = "sum up what a trace holds: operations, files, processes, rates, losses",
	.options = options,
	.arguments_min = 1,
	.arguments_max = 1,
};

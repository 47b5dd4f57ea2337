// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <stdlib.h>

#include "cleanup.h"
#include "command_line/options.h"
#include "output/complain.h"
#include "output/json.h"
#include "reading/compare.h"
#include "verbs/problems.h"
#include "verbs/summed.h"
#include "verify/manifest.h"
#include "verify/verify.h"

enum { TOP_DEFAULT = 10 };

static int show(const struct context *context, struct json_object *parameters, char **paths, const struct summed summed[2])
{
	size_t most = summed_top(parameters, TOP_DEFAULT, SUMMED_TOP_MOST);
	struct compare compare = { 0 };
	int code = EXIT_DONE;

	for (size_t i = 0; i < 2; i++)
		compare.sides[i] = (struct compare_side){ .path = paths[i], .summary = summed[i].summary, .trace = &summed[i].trace };
	if (compare_make(&compare) < 0) {
		complain(NULL, "out of memory");
		code = EXIT_FAILED;
	} else if (context->json) {
		compare_print_json(&compare, most);
	} else {
		compare_print(&compare, most);
	}
	compare_done(&compare);
	return code;
}

/* What could not be read of a trace, so that what is missing is not taken for gone. */
static int tell_wrong(const char *path, const struct summed *summed)
{
	struct json_object *list = summed->report.lists[VERIFY_WRONG], *first = json_object_array_get_idx(list, 0);

	if (!summed->report.counts[VERIFY_WRONG])
		return EXIT_DONE;
	complain("'iotracectl verify' tells all.", "%s is not whole, and what is missing may look gone: %s: %s", path,
		 text_of(first, "file", ""), text_of(first, "what", ""));
	return EXIT_FAILED;
}

/* Whether there is a trace: asked of both before one of them is read for a while. */
static int check_trace(const char *path)
{
	_cleanup_close_ int folder = verify_open(path);
	struct verify_trace trace = { .folder_fd = folder };
	struct verify_report report;
	int code = EXIT_DONE;

	if (folder < 0)
		return EXIT_FAILED;
	verify_report_init(&report, true, false);
	if (!verify_manifest_read(&trace, &report))
		code = complain_no_trace(path, &report);
	verify_report_done(&report);
	verify_trace_done(&trace);
	return code;
}

/* What rows of each operation took in the first trace, which must be known before rows of either are compared with it. */
static int read_baseline(const char *path, struct summary_baseline *baseline)
{
	struct summed summed;
	int code = summed_read(&summed, path, NULL, NULL);

	if (code == EXIT_DONE)
		summary_baseline(summed.summary, baseline);
	summed_done(&summed);
	return code;
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	struct summary_baseline *baseline = calloc(1, sizeof(*baseline));
	struct summed summed[2];
	int code = baseline ? EXIT_DONE : EXIT_FAILED, read = 0;

	for (int i = 0; i < argc && code == EXIT_DONE; i++)
		code = check_trace(argv[i]);
	if (code == EXIT_DONE)
		code = read_baseline(argv[0], baseline);
	for (; read < argc && code == EXIT_DONE; read++)
		code = summed_read(&summed[read], argv[read], NULL, baseline);
	free(baseline);
	if (code == EXIT_DONE)
		code = show(context, parameters, argv, summed);
	for (int i = 0; i < read; i++) {
		if (code == EXIT_DONE)
			code = tell_wrong(argv[i], &summed[i]);
		summed_done(&summed[i]);
	}
	return code;
}

static const struct option_row own_rows[] = {
	SUMMED_TOP_OPTION("files, commands, units, devices and peers that differ [10]"),
};
static const struct option_group own_options = OPTION_GROUP("View", own_rows);
static const struct option_group *const options[] = { &own_options, NULL };

const struct verb verb_compare = {
	.name = "compare",
	.run = run,
	.group = VERBS_TRACES,
	.synopsis = "A B [--top N]",
	.summary = "say what is slower, more, new or gone in trace B, and how sure that is",
	.options = options,
	.arguments_min = 2,
	.arguments_max = 2,
};

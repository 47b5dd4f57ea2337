// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <string.h>

#include "command_line/options.h"
#include "output/json.h"
#include "reading/summary_print.h"
#include "verbs/summed.h"

enum { TOP_DEFAULT = 5 };

static enum top_order order_named(const char *name)
{
	return !strcmp(name, "bytes") ? TOP_BY_BYTES : !strcmp(name, "rows") ? TOP_BY_ROWS :
	       !strcmp(name, "errors") ? TOP_BY_ERRORS : TOP_BY_TIME;
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	const struct summary_view view = { summed_top(parameters, TOP_DEFAULT, SUMMED_TOP_MOST),
					   order_named(text_of(parameters, "sort", "time")) };
	struct summed summed;
	int code = summed_read(&summed, argv[0], NULL, NULL);

	(void)argc;
	if (code == EXIT_DONE && context->json)
		summary_print_json(argv[0], summed.summary, &summed.trace, &summed.report, &view);
	else if (code == EXIT_DONE)
		summary_print(summed.summary, &summed.trace, &summed.report, &view);
	if (code == EXIT_DONE)
		code = summed_code(&summed);
	summed_done(&summed);
	return code;
}

static const struct option_row own_rows[] = {
	SUMMED_TOP_OPTION("files, directories, processes, units, devices and peers [5]"),
	{ .name = "sort",
	  .kind = OPTION_CHOICE,
	  .parameter = "sort",
	  .value = "time|bytes|rows|errors",
	  .help = "list those with the most of this [time]" },
};
static const struct option_group own_options = OPTION_GROUP("View", own_rows);
static const struct option_group *const options[] = { &own_options, NULL };

const struct verb verb_summary = {
	.name = "summary",
	.run = run,
	.group = VERBS_TRACES,
	.synopsis = "DIR [--top N] [--sort WHAT]",
	.summary = "sum up what a trace holds: operations, files, processes, rates, losses",
	.options = options,
	.arguments_min = 1,
	.arguments_max = 1,
};

// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "command_line/options.h"
#include "output/complain.h"
#include "output/interrupt.h"
#include "output/json.h"
#include "output/new_file.h"
#include "output/text.h"
#include "report/document.h"
#include "report/page.h"
#include "units.h"
#include "verbs/problems.h"
#include "verbs/summed.h"

enum { TOP_DEFAULT = 10, TOP_MOST = 100 }; /* more bars than that cannot be told apart */

static int refuse_existing(const char *path)
{
	complain("Give another name, or --force to write over it.", "%s exists", path);
	return EXIT_FAILED;
}

/* Writes the page beside what is there under that name, which stays as it is until the page is whole. */
static int write_page(const char *path, struct json_object *document, bool force, uint64_t *size)
{
	struct new_file file;
	int r;

	/* This takes a moment, and then there is a page or none: nothing of it is left behind. */
	interrupt_hold(true);
	r = new_file_open(&file, path, force);

	if (r >= 0) {
		page_write(file.stream, document);
		r = new_file_keep(&file, size);
	}
	new_file_done(&file);
	interrupt_hold(false);
	if (r == -EEXIST)
		return refuse_existing(path);
	if (r < 0)
		complain(NULL, "%s: %s", path, strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

static void tell(const struct context *context, const char *path, const struct summary *summary, uint64_t size)
{
	_cleanup_json_ struct json_object *document = json_object_new_object();
	char rows[32], bytes[32];

	if (context->json) {
		json_object_object_add(document, "output", json_escaped(path));
		json_object_object_add(document, "rows", json_object_new_uint64(summary->rows));
		json_object_object_add(document, "bytes", json_object_new_uint64(size));
		print_json(document);
		return;
	}
	put_text(stdout, path);
	printf(": %s rows in a page of %s\n", format_count(rows, sizeof(rows), summary->rows),
	       iotr_format_size(bytes, sizeof(bytes), size));
}

static int report(const struct context *context, struct json_object *parameters, const char *folder,
		  struct gathered *gathered)
{
	const struct summary_watcher watcher = { gathered_row, gathered };
	const char *path = text_of(parameters, "output", "");
	uint64_t size;
	_cleanup_json_ struct json_object *document = NULL;
	struct summed summed;
	int code = summed_read(&summed, folder, &watcher, NULL);

	if (code == EXIT_DONE) {
		document = report_document(folder, summed.summary, gathered, &summed.trace, &summed.report,
					   summed_top(parameters, TOP_DEFAULT, TOP_MOST));
		code = write_page(path, document, member_of(parameters, "force"), &size);
	}
	if (code == EXIT_DONE) {
		tell(context, path, summed.summary, size);
		/* It is in the page, too, but the exit code alone would not say what it means. */
		code = complain_problems(&summed.report);
	}
	summed_done(&summed);
	return code;
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	const char *path = text_of(parameters, "output", "");
	struct gathered *gathered;
	int code = EXIT_FAILED;

	(void)argc;
	if (!*path)
		return complain_usage_of(context, "output", "give the page that is to be written: --output FILE");
	/* Before all is read. */
	if (!member_of(parameters, "force") && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return refuse_existing(path);
	gathered = calloc(1, sizeof(*gathered));
	if (gathered && gathered_init(gathered) >= 0)
		code = report(context, parameters, argv[0], gathered);
	else
		complain(NULL, "out of memory");
	if (gathered)
		gathered_done(gathered);
	free(gathered);
	return code;
}

static const struct option_row own_rows[] = {
	{ .name = "output",
	  .kind = OPTION_PATH,
	  .parameter = "output",
	  .value = "FILE",
	  .help = "the page, new; -o is the same" },
	{ .name = "force",
	  .kind = OPTION_SWITCH,
	  .parameter = "force",
	  .help = "write over a file that is there" },
	SUMMED_TOP_OPTION("commands, files, processes, units, devices and peers [10]"),
};
static const struct option_group own_options = OPTION_GROUP("Page", own_rows);
static const struct option_group *const options[] = { &own_options, NULL };

const struct verb verb_report = {
	.name = "report",
	.run = run,
	.group = VERBS_TRACES,
	.synopsis = "DIR --output FILE [--force] [--top N]",
	.summary = "draw what a trace holds in one page for a browser, which needs no network",
	.options = options,
	.arguments_min = 1,
	.arguments_max = 1,
};

// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/summed.h"

#include <stdlib.h>
#include <unistd.h>

#include "output/complain.h"
#include "output/json.h"
#include "verify/counts.h"
#include "verify/manifest.h"
#include "verify/verify.h"

/* A manifest that cannot be read ends everything. */
static int complain_of(const char *path, const struct verify_report *report)
{
	struct json_object *first = count_of(report->lists[VERIFY_WRONG]) ?
					    json_object_array_get_idx(report->lists[VERIFY_WRONG], 0) : NULL;

	complain("Give the folder of a trace, the one with manifest.json.", "%s/%s: %s", path,
		 text_of(first, "file", MANIFEST_NAME), text_of(first, "what", "it cannot be read"));
	return EXIT_FAILED;
}

int summed_read(struct summed *summed, const char *path, const struct summary_watcher *watcher)
{
	*summed = (struct summed){ .folder = verify_open(path) };
	verify_report_init(&summed->report, true, false);
	if (summed->folder < 0)
		return EXIT_FAILED;
	summed->trace.folder_fd = summed->folder;
	if (!verify_manifest_read(&summed->trace, &summed->report))
		return complain_of(path, &summed->report);
	verify_counts(&summed->trace, &summed->report);
	summed->summary = calloc(1, sizeof(*summed->summary));
	if (summed->summary && summary_read(summed->summary, &summed->trace, &summed->report, watcher) >= 0)
		return EXIT_DONE;
	complain(NULL, "%s: out of memory", path);
	return EXIT_FAILED;
}

int summed_code(const struct summed *summed)
{
	return summed->report.counts[VERIFY_WRONG] ? EXIT_FAILED : EXIT_DONE;
}

void summed_done(struct summed *summed)
{
	if (summed->summary)
		summary_done(summed->summary);
	free(summed->summary);
	verify_report_done(&summed->report);
	verify_trace_done(&summed->trace);
	if (summed->folder >= 0)
		close(summed->folder);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/summed.h"

#include <stdlib.h>
#include <unistd.h>

#include "output/complain.h"
#include "output/json.h"
#include "verbs/problems.h"
#include "verify/counts.h"
#include "verify/manifest.h"
#include "verify/verify.h"

size_t summed_top(struct json_object *parameters, size_t usual, size_t most)
{
	size_t wanted = member_of(parameters, "top") ? number_of(parameters, "top") : usual;

	return wanted < most ? wanted : most;
}

int summed_read(struct summed *summed, const char *path, const struct summary_watcher *watcher,
		const struct summary_baseline *baseline)
{
	*summed = (struct summed){ .folder = verify_open(path) };
	verify_report_init(&summed->report, true, false);
	if (summed->folder < 0)
		return EXIT_FAILED;
	summed->trace.folder_fd = summed->folder;
	if (!verify_manifest_read(&summed->trace, &summed->report))
		return complain_no_trace(path, &summed->report);
	verify_counts(&summed->trace, &summed->report);
	summed->summary = calloc(1, sizeof(*summed->summary));
	if (summed->summary && summary_read(summed->summary, &summed->trace, &summed->report, watcher, baseline) >= 0)
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

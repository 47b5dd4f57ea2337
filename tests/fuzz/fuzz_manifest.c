// SPDX-License-Identifier: GPL-2.0-or-later
/* A folder whose manifest.json is any bytes: read as verify and summary read it. */
#include "fuzz.h"
#include "input_file.h"
#include "reading/summary.h"
#include "verify/folder.h"
#include "verify/manifest.h"
#include "verify/verify.h"

static void read_contents(struct verify_trace *trace, struct verify_report *report)
{
	static struct summary summary; /* too large for a stack that is looked after */

	verify_contents(trace, report);
	verify_folder(trace, report);
	ck_assert_int_eq(summary_read(&summary, trace, report, NULL, NULL), 0);
	summary_done(&summary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct verify_trace trace = { 0 };
	struct verify_report report;

	input_put(MANIFEST_NAME, data, size);
	trace.folder_fd = input_folder()->fd;
	verify_report_init(&report, true, false);
	if (verify_manifest_read(&trace, &report))
		read_contents(&trace, &report);
	else
		ck_assert_uint_gt(report.counts[VERIFY_WRONG], 0); /* it says why */
	verify_report_done(&report);
	verify_trace_done(&trace);
	return 0;
}

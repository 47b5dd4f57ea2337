// SPDX-License-Identifier: GPL-2.0-or-later
/* Loads the file of a manifest. */
#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "output.h"
#include "verify.h"

#define MANIFEST "manifest.json"

static int fail(struct verify_report *report, const char *what)
{
	verify_say(report, VERIFY_WRONG, MANIFEST, "%s", what);
	return -EBADMSG;
}

int verify_load(struct verify_trace *trace, struct verify_report *report)
{
	struct trace_file file;
	int r = trace_file_open(trace->folder_fd, MANIFEST, &file);

	if (r < 0)
		return fail(report, r == -ENOENT ? "there is none: this is no trace" : verify_file_error(r));
	if (file.size <= MANIFEST_MAX)
		r = manifest_reader_init(&trace->reader, take_fd(&file.fd), &trace->json);
	else
		r = -EFBIG;
	trace_file_close(&file);
	if (r < 0)
		return fail(report, r == -EBADMSG ? "it is not JSON, or damaged" :
				    r == -EFBIG	  ? "it is larger than " MANIFEST_MAX_TEXT
						    ", or more than 16 MiB of it are no segments" :
						    strerror(-r));
	return 0;
}

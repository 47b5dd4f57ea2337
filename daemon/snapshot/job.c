// SPDX-License-Identifier: GPL-2.0-or-later
#include "job.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *job_name(struct job *job, enum job_name kind, const char *text, size_t *length)
{
	return job->names ? job->names(kind, text, *length, length, job->names_userdata) : text;
}

int job_fail(struct job *job, int r, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(job->message, sizeof(job->message), format, arguments);
	va_end(arguments);
	return r;
}

int job_finish(struct job *job, struct store *store)
{
	int r = store_finish(store, &job->files[job->file_count]);

	if (r < 0)
		return job_fail(job, r, "%s cannot be written: %s", store->path, strerror(-r));
	job->file_count++;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "job.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "files.h"

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

void job_timestamp(const struct job *job, char text[TEXT_TIME_SIZE + DIGITS_SLACK])
{
	struct text_clock clock = { 0 };

	*text_time(&clock, text, (int64_t)(job->started_ns / 1000000000),
		   (uint32_t)(job->started_ns % 1000000000)) = '\0';
}

int job_create(struct job *job, unsigned int which, struct store **ret)
{
	char path[SNAPSHOT_PATH_SIZE];
	int r;

	files_path(job->request->kind, which, job->request->number, path);
	r = store_new(job->output_fd, path, files_attempt(job->request->kind, job->request->number),
		      &job->request->writes, ret);
	return r < 0 ? job_fail(job, r, "%s cannot be created: %s", path, strerror(-r)) : 0;
}

int job_finish(struct job *job, struct store *store)
{
	int r = store_finish(store, &job->files[job->file_count]);

	if (r < 0)
		return job_fail(job, r, "%s cannot be written: %s", store->path, strerror(-r));
	job->file_count++;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that takes a snapshot, from within: what every kind is given, and how names pass.
 * A kind is a struct job_kind, all of which kinds.h has; its functions run on the worker thread, one at a time.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "guard.h"
#include "store.h"
#include "text.h"

enum job_name {
	JOB_NAME_PATH,	       /* absolute */
	JOB_NAME_COMMAND,      /* of a thread */
	JOB_NAME_COMMAND_LINE, /* its arguments, separated by spaces */
	JOB_NAME_CGROUP,       /* path of a cgroup, with its unit */
	JOB_NAME_HOST,
	JOB_NAME_LINK, /* a network interface */
};

/*
 * Every name that a snapshot shows goes through this function: NULL leaves it as it is. The text
 * that it returns stays valid until the next call.
 */
typedef const char *(*job_names)(enum job_name kind, const char *text, size_t length,
				 size_t *new_length, void *userdata);

struct job {
	const struct snapshot_request *request;
	int output_fd, tasks_fd;
	struct guard guard;
	uint64_t started_ns; /* CLOCK_REALTIME */
	job_names names;
	void *names_userdata;
	_Atomic uint64_t rows, skipped;
	void *state; /* of the kind; NULL: begin() has not been called */
	struct snapshot_file files[SNAPSHOT_FILES_MAX];
	uint32_t file_count;
	char message[512]; /* what the user should know */
};

struct job_kind {
	/* Sets the state. Like all here: 0 or a negative errno, with a message where that does not say it all. */
	int (*begin)(struct job *job);
	/* Runs to the end. Called again, on another thread, after what hung was passed over. */
	int (*run)(struct job *job);
	/* Describes what hangs in words, and leaves it out from now on. */
	const char *(*pass)(struct job *job);
	/* Releases the state, and removes files that were not finished. */
	void (*done)(struct job *job);
};

/* The name as it may be shown. */
const char *job_name(struct job *job, enum job_name kind, const char *text, size_t *length);

/* When the snapshot began, as the timestamp columns have it, with a NUL. */
void job_timestamp(const struct job *job, char text[TEXT_TIME_SIZE + DIGITS_SLACK]);

/* Begins the file: see files_path(). */
int job_create(struct job *job, unsigned int which, struct store **ret);

/* Ends the file, and adds it to the files of the job. */
int job_finish(struct job *job, struct store *store);

/* Sets the message and returns `r`. */
int job_fail(struct job *job, int r, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a session needs of the disk before its first row: the files that its filters name, the key of
 * anonymisation, its folder, its note and its writer. As a disk may delay this for long, a thread opens them.
 * For a session that continues it tries again as long as the disk is full or fails; only a stop or the
 * session's own limits end this. Main thread.
 */
#pragma once

#include <limits.h>

#include "error.h"
#include "errand.h"
#include "pipeline/recover/recover.h"
#include "pipeline/storage/storage.h"
#include "pipeline/writer/writer.h"
#include "probes/paths_find.h"
#include "session/running.h"

/* What it needs to know. All of it is copied, but for what is marked. */
struct opening_sources {
	struct errands *errands;
	struct storage *storage; /* must live as long as the thread */
	const char *log_dir, *state_dir;
	const struct rights *log_rights;
	const struct rights *rights; /* with which the session's files are made */
	bool limited;		     /* there is a limit for all traces together */
	const struct iotr_session_spec *spec;
	uint64_t queue_size;	   /* of a session that does not say; 0: QUEUE_SIZE */
	time_t started;		   /* for the name of the default folder */
	const char *level;	   /* a constant */
	struct json_object *hooks; /* for the manifest; taken over */
	struct running_note note;  /* as far as it is known; its definition is taken over */
};

/* What was opened. On an error nothing of it remains. */
struct opened {
	int result; /* -errno, with a sentence in `error`; -ECANCELED */
	struct engine_error error;
	struct paths_found *paths; /* this and the writer are taken over by the handler; NULL: none was needed */
	struct writer *writer;
	struct trace *trace; /* of the writer */
	int folder_fd;	     /* closed after the handler; -1: there is no folder */
	char output[PATH_MAX];	    /* the folder; "": there is none */
	char note[RUNNING_ID_MAX];  /* "": there is no note */
	char real_folder[PATH_MAX]; /* this and the next as in the note */
	ino_t inode;
	uint64_t ends_ns; /* CLOCK_REALTIME, as in the note; 0: it has no end */
	uint8_t anonymize_key[IOTR_ANONYMIZE_KEY_SIZE];
	struct recover_extent before; /* of previous sessions, if limits include them */
};

struct opening;

/* Called on the main loop when the thread has ended, unless it was abandoned; the opening is freed then. */
typedef void (*opening_handler)(struct opened *opened, void *userdata);

/*
 * Begins to open. `before`: the note of the session that it continues, copied, or NULL. On an error what the
 * sources hand over is freed.
 */
int opening_new(struct opening_sources *sources, const struct running_note *before, opening_handler handler,
		void *userdata, struct opening **ret);

/* The session was stopped: the thread opens nothing further, as soon as the disk lets it notice. */
void opening_cancel(struct opening *opening);

/* Adds "start_error" to the status if the thread is trying again. */
void opening_describe_trouble(struct opening *opening, struct json_object *status);

/* Waits for the thread until `until_ns` (CLOCK_MONOTONIC). Returns whether the handler can be called now. */
bool opening_wait(const struct opening *opening, uint64_t until_ns);

/* Leaves the thread alone: if the disk answers one day, it removes what it has opened. */
void opening_abandon(struct opening *opening);

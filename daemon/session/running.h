/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's memory of its sessions across restarts and crashes: a note for each in
 * STATE/running/NAME@START.json, durable before the first row is written and removed when the session has
 * ended. The next daemon continues the sessions whose notes are there; it moves each note to STATE/recover/,
 * where it stays until the session's folder has been recovered. Any thread.
 */
#pragma once

#include <json-c/json.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "anonymize.h"
#include "rights.h"
#include "session_spec.h"

enum { RUNNING_ID_MAX = IOTR_SESSION_NAME_MAX + 32 };

struct running_note {
	char id[RUNNING_ID_MAX]; /* NAME@START; "" when there is no note */
	char name[IOTR_SESSION_NAME_MAX + 1];
	uint64_t started_ns; /* CLOCK_REALTIME, as the next one */
	uint64_t ends_ns;    /* 0: the session runs until it is stopped */
	uint64_t until_ns;   /* CLOCK_REALTIME: its daemon ended, and recorded nothing any more; 0: it runs, or was killed */
	bool went;	     /* a trigger has acted for which it waited: it records at once when it goes on */
	struct rights owner;
	uint32_t streams;
	char output[PATH_MAX]; /* folder of its files, without symbolic links */
	ino_t inode;	       /* of that folder; 0: it was about to be made, and contains nothing yet */
	bool has_key;	       /* the session has its own key for hashed names */
	uint8_t anonymize_key[IOTR_ANONYMIZE_KEY_SIZE];
	struct json_object *definition; /* from definition_note(); owned */
};

void running_note_done(struct running_note *note);

/* Copies a note, including its definition. On -ENOMEM `*ret` has no definition. */
int running_note_copy(const struct running_note *note, struct running_note *ret);

/* The rights with which the folder is written: `log` if it is below the log folder. */
const struct rights *running_writes_as(const struct running_note *note, const struct rights *log);

/* Gives the note its id and writes it. 0 or a negative errno. */
int running_write(const char *state_dir, struct running_note *note);

/*
 * The session has ended, or its folder has been recovered: removes the note from whichever folder it is in.
 */
void running_remove(const char *state_dir, const char *id);

/* The session must not continue once more, but its folder needs recovery: moves the note to STATE/recover. */
int running_move(const char *state_dir, const char *id);

enum running_folder { RUNNING_SESSIONS, RUNNING_RECOVER };

/*
 * Reads all notes, the latest session first. The caller owns `*notes`, and releases each with
 * running_note_done(). A file that is no note is logged and removed; one that cannot be read now is logged and
 * stays. Returns their number or a negative errno.
 */
ssize_t running_read(const char *state_dir, enum running_folder folder,
		     struct running_note **notes);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon knows of its sessions after its end, whatever that was: a note for each in
 * STATE/running/NAME@START.json, durable before the first row is written and gone when the session
 * has ended. The next daemon finds those that should go on there; it moves each to STATE/recover/,
 * where it stays until the session's folder has been set right. Any thread.
 */
#pragma once

#include <json-c/json.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "session.h"

enum { RUNNING_ID_MAX = IOTR_SESSION_NAME_MAX + 32 };

struct running_note {
	char id[RUNNING_ID_MAX]; /* NAME@START; "" when there is no note */
	char name[IOTR_SESSION_NAME_MAX + 1];
	uint64_t started_ns; /* CLOCK_REALTIME, as the next */
	uint64_t ends_ns;    /* 0: when it is stopped */
	uint32_t owner_uid;
	uint32_t streams;
	char output[PATH_MAX]; /* folder of its files, without symbolic links */
	ino_t inode;	       /* of that folder */
	struct json_object *definition; /* from definition_note(); owned */
};

void running_note_done(struct running_note *note);

/* With a definition of its own. -ENOMEM: `*ret` has none. */
int running_note_copy(const struct running_note *note, struct running_note *ret);

/* Gives the note its id and writes it. 0 or a negative errno. */
int running_write(const char *state_dir, struct running_note *note);

/* The session has ended, or its folder has been set right: the note goes, wherever it lies. */
void running_remove(const char *state_dir, const char *id);

/* The session is not to go on once more; its folder is still to be set right. */
int running_move(const char *state_dir, const char *id);

enum running_folder { RUNNING_SESSIONS, RUNNING_RECOVER };

/*
 * All notes, the latest session first; `*notes` is the caller's, each with running_note_done().
 * What is no note is logged and removed; what cannot be read now is logged and stays. How many, or a
 * negative errno.
 */
ssize_t running_read(const char *state_dir, enum running_folder folder,
		     struct running_note **notes);

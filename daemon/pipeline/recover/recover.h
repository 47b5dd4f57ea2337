/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recovers the folder of a session whose daemon was killed: segments are cut after their last whole
 * row and closed, half-made files are removed, and the manifest is brought to its end, with the gap
 * in it.
 *
 * Nothing outside the folder is touched and no symbolic link is followed; what is not ours (by
 * owner, by a second name of the file) stays as it is. Memory is bounded whatever the files' size.
 * One thread that has the folder to itself, but for closed segments that retention removes.
 */
#pragma once

#include <json-c/json.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "rights.h"

struct recover_config {
	const char *output; /* absolute, without symbolic links */
	ino_t inode;	    /* of the folder, lest another one be taken for it */
	const struct rights *rights; /* with which the folder is recovered; NULL: the daemon's own */
	/* For a new manifest, where there is none, or no complete one. */
	const char *session;
	uint32_t streams;
	uint32_t owner_uid;
	struct json_object *definition; /* copied; may be NULL */
	const uint8_t *anonymize_key; /* of a session whose names are hashed, otherwise NULL */
	bool retention; /* there are limits of any kind: the oldest segments may be removed, also meanwhile */
	_Atomic bool *cancel;		/* true: recovery stops, as the daemon ends */
};

/*
 * 1 when there was something to recover, 0 when the session had ended in good order, or a negative
 * errno: -ECANCELED, or why the folder cannot be used, which is then as it was.
 */
int recover_folder(const struct recover_config *config);

/* Removes a folder, given by an absolute path without symbolic links, if it is empty; otherwise a negative errno. */
int recover_remove_empty(const char *path);

/* The extent that limits on all files of a session count, files included that were removed meanwhile. */
struct recover_extent {
	uint64_t rows, bytes;
};

/*
 * The extent of a session that has ended, or was recovered, together with the sessions that it
 * continues. 0 or a negative errno: -ENODATA where the manifest does not tell.
 */
int recover_extent(const struct recover_config *config, struct recover_extent *ret);

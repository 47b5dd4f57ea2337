/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder of a session whose daemon was killed: segments cut behind their last whole row and
 * closed, what was half made removed, and the manifest brought to its end, with the gap in it.
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

struct recover_config {
	const char *output; /* absolute, without symbolic links */
	ino_t inode;	    /* of the folder, lest another one be taken for it */
	/* For a manifest that is not there, or not whole. */
	const char *session;
	uint32_t streams;
	uint32_t owner_uid;
	struct json_object *definition; /* copied; may be NULL */
	const uint8_t *anonymize_key; /* of a session whose names are hashed, else NULL */
	bool retention; /* of any kind: the oldest segments may be removed, also meanwhile */
	_Atomic bool *cancel;		/* true: the end of the daemon does not wait */
};

/*
 * 1 when there was something to set right, 0 when the session had ended in good order, or a
 * negative errno: -ECANCELED, or why the folder cannot be used, which is then as it was.
 */
int recover_folder(const struct recover_config *config);

/* What limits on all files of a session count, those included that were removed meanwhile. */
struct recover_extent {
	uint64_t rows, bytes;
};

/*
 * The extent of a session that has ended, or was set right, together with those that it went on
 * from. 0 or a negative errno: -ENODATA where the manifest does not tell.
 */
int recover_extent(const struct recover_config *config, struct recover_extent *ret);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A folder of snapshots that belong to no session. Errands make it, and finish it, as its disk may hang. Main
 * thread.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

#include "anonymize.h"
#include "errand.h"
#include "error.h"
#include "rights.h"

struct storage;
struct own_folder;

struct own_folder_config {
	struct errands *errands;
	struct storage *storage; /* counts it among all traces, when it is finished */
	const char *log_dir, *state_dir;
	const struct rights *log_rights; /* with which it is made below `log_dir` */
};

struct own_folder_request {
	const char *named;	     /* absolute path; NULL: LOG_DIR/snapshots/TIME */
	const struct rights *caller; /* its owner; a folder that was named is made with these rights */
	bool anonymize;		     /* names are to be hashed, with a key of this folder alone... */
	bool anonymize_host;	     /* ...or with that of the host */
};

/* Called once, on the main loop. After an error the folder is freed. */
typedef void (*own_folder_handler)(int result, const struct engine_error *error, void *userdata);

/* Begins to make the folder; the config and the request are copied. On failure the handler is not called. */
int own_folder_new(const struct own_folder_config *config, const struct own_folder_request *request,
		   own_folder_handler made, void *userdata, struct own_folder **ret, struct engine_error *error);

/* Whether it was made, and its finishing has not begun. The other functions are for such a folder. */
bool own_folder_is_made(const struct own_folder *folder);

/* Its descriptor and path; the rights for its files; the key for their names, NULL: these stay in the clear. */
int own_folder_fd(const struct own_folder *folder);
const char *own_folder_path(const struct own_folder *folder);
const struct rights *own_folder_writes(const struct own_folder *folder);
const uint8_t *own_folder_key(const struct own_folder *folder);

/*
 * Begins to finish it: it gets a manifest with the list, which is copied, and files of `stored` bytes are
 * counted. If the list is NULL, what is empty is removed, the folder too if nobody named it. It is freed before
 * the handler, which may be NULL, is called; on failure it is freed at once.
 */
int own_folder_finish(struct own_folder *folder, struct json_object *list, uint64_t stored,
		      own_folder_handler finished, void *userdata);

/*
 * The caller waits no longer. A folder that is being made is removed again; one that is being finished is still
 * finished. No handler is called.
 */
void own_folder_leave(struct own_folder *folder);

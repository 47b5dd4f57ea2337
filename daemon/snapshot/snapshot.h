/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One snapshot, taken by a process of its own: this program started anew (snapshot_helper()), so
 * that a file system that hangs holds up neither the daemon nor its end, and memory is that of the
 * snapshot alone. It runs under the daemon's command name, and makes no rows for that reason.
 *
 * A snapshot belongs to the main thread. Files have `.part` behind their names until they are
 * whole; what was not finished leaves nothing.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "anonymize.h"

enum snapshot_kind {
	SNAPSHOT_SYSTEM,
	SNAPSHOT_PROCESS,
	SNAPSHOT_FILESYSTEM,
	SNAPSHOT_KIND_COUNT,
};

enum {
	SNAPSHOT_DEPTH_MAX = 65535,
	SNAPSHOT_FILES_MAX = 2,
	SNAPSHOT_PATH_SIZE = 64,
	SNAPSHOT_COUNTRY_SIZE = 3,
};

/* "system", "process", "filesystem"; -ENOENT for another name. */
const char *snapshot_kind_name(enum snapshot_kind kind);
int snapshot_kind_find(const char *name);

struct snapshot_request {
	enum snapshot_kind kind;
	uint32_t number;      /* of the file's name, from 1 */
	uint32_t depth;	      /* levels below the root, 0: the root alone */
	uint32_t patience_ms; /* that one call of a file system may take; 0: 15 s */
	char root[PATH_MAX];  /* absolute */
	char country[SNAPSHOT_COUNTRY_SIZE]; /* "": from the time zone */
	bool anonymize; /* names as hashes of this key, which whoever frees this wipes */
	uint8_t anonymize_key[IOTR_ANONYMIZE_KEY_SIZE];
};

/* A file that is whole. */
struct snapshot_file {
	char path[SNAPSHOT_PATH_SIZE]; /* below the output folder */
	uint64_t rows;
	uint64_t bytes; /* of text */
	uint64_t stored_bytes;
	char sha256[65]; /* of the text */
};

struct snapshot_state {
	uint64_t started_ns; /* CLOCK_REALTIME; 0: not yet */
	uint64_t ended_ns;   /* 0: it runs */
	uint64_t rows;	     /* so far */
	uint64_t skipped;    /* things that could not be looked at */
	int error;	     /* negative errno: there are no files; -ECANCELED */
	char message[512];   /* about the error, or about what was skipped */
	uint32_t file_count;
	struct snapshot_file files[SNAPSHOT_FILES_MAX];
};

struct snapshot;

/*
 * Some times a second while it runs, and once with `ended_ns`, after which the snapshot is still
 * the caller's to free (from the handler too).
 */
typedef void (*snapshot_handler)(const struct snapshot_state *state, void *userdata);

/*
 * `program`: NULL for the running one. `output_fd`: the folder; `tasks_fd`: what the sampler wrote,
 * -1 for kinds that need none. Both stay the caller's. An error is that of starting the process.
 */
int snapshot_new(sd_event *event, const char *program, const struct snapshot_request *request,
		 int output_fd, int tasks_fd, snapshot_handler handler, void *userdata,
		 struct snapshot **ret);

const struct snapshot_state *snapshot_state(const struct snapshot *snapshot);

/* Waits until it has ended, at most so long; whether it has. The handler is not called. */
bool snapshot_wait(struct snapshot *snapshot, unsigned int milliseconds);

/* Ends it where it runs, with nothing left of its files; takes 200 ms at most. Takes NULL. */
void snapshot_free(struct snapshot *snapshot);

/* The other process: its main(), entered with SNAPSHOT_HELPER as the only argument. */
#define SNAPSHOT_HELPER "--snapshot-helper"
int snapshot_helper(void);

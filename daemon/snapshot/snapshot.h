/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One snapshot, taken by a process of its own: this program started again (snapshot_helper()), so
 * that a file system that hangs holds up neither the daemon nor its end, and memory is that of the
 * snapshot alone. It runs under the daemon's command name, and makes no rows for that reason.
 *
 * A snapshot belongs to the main thread. The names of files end in `.part` until they are
 * whole; files that were not finished are removed.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "anonymize.h"
#include "host_name.h"
#include "rights.h"

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
	struct rights reads;  /* of the client that asks: no name is shown that it may not see */
	struct rights writes; /* with which its files are made */
	char country[SNAPSHOT_COUNTRY_SIZE]; /* "": from the time zone */
	char host[HOST_NAME_SIZE]; /* what the machine is called */
	bool anonymize; /* names are hashed with the next member, a key that the code which frees this wipes */
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
 * Called some times a second while it runs, and once with `ended_ns`, after which the snapshot is
 * still the caller's to free (from the handler too).
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

/* Waits until it has ended, at most for this time; returns whether it has. The handler is not called. */
bool snapshot_wait(struct snapshot *snapshot, unsigned int milliseconds);

/*
 * Called when a process that takes a snapshot begins, before it gets its order, and when it has
 * ended. The watcher is set at the daemon's start.
 */
typedef void (*snapshot_watcher)(pid_t process, bool begins, void *userdata);
void snapshot_watch(snapshot_watcher watcher, void *userdata);

/*
 * Kills the process if it runs; takes 40 ms at most. Its unfinished files are removed by then, or later by a
 * thread, when the process has ended and the disk answers. Takes NULL.
 */
void snapshot_free(struct snapshot *snapshot);

/* Waits until there is no such thread any more, or until `until_ns` (CLOCK_MONOTONIC). */
void snapshot_removals_end(uint64_t until_ns);

/* The main() of that process, entered with SNAPSHOT_HELPER as the only argument. */
#define SNAPSHOT_HELPER "--snapshot-helper"
int snapshot_helper(void);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of counting.h share. Main thread. */
#pragma once

#include "amplification/process.h"
#include "amplification/window.h"
#include "probes/layers.h"
#include "probes/loading.h"
#include "session/counting.h"

struct counting_watch {
	struct counting_watch *next;
	struct counting *counting;
	struct window *window; /* NULL: that of the permanent watch is looked at */
	counting_begun begun;  /* NULL: it was called */
	void *userdata;
	uint64_t since_ns; /* CLOCK_MONOTONIC: when it began */
	uint32_t process;  /* with which a command begins; 0: there is none */
	uint32_t command;  /* as a bit, from when it is followed; 0: it is not */
	struct engine_error why; /* if it cannot be followed */
	uint64_t unfollowed; /* processes of commands that could not be followed before it began */
};

struct counting {
	struct counting_config config;
	struct layers *layers; /* NULL: they are not loaded */
	struct load *loading;  /* NULL: that is not under way */
	struct processes *processes;
	struct counting_watch *watches;
	struct counting_watch *permanent; /* one of those, or NULL */
	sd_event_source *timer;
	struct loading_wait dirtied; /* for the programs that note who makes pages dirty */
	bool waiting, attached;
	uint32_t commands; /* that are followed, as bits */
	size_t count; /* of the watches, but for the permanent one */
};

/* Reads what the kernel has counted so far, for all that watch. 0 or a negative errno. */
int counting_read(struct counting *counting);

/*
 * From now on the watch's process, and all that it begins, are of its command, unless `why` says that they cannot be. To be called
 * when the programs are attached.
 */
void command_follow(struct counting_watch *watch);

/* After the watch is no more among those of `counting`. */
void command_leave(struct counting_watch *watch);

// SPDX-License-Identifier: GPL-2.0-or-later
/* Commands whose I/O is told apart: each has a bit of its own while it is watched. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "session/counting_private.h"

_Static_assert((int)COUNTING_WATCHES_MAX < (int)LAYERS_COMMANDS_MAX, "more watches than bits of commands");

static void refuse(struct counting_watch *watch, int r)
{
	if (r == -ESRCH) {
		engine_fail(&watch->why, r, "pid", "there is no such process");
		return;
	}
	snprintf(watch->why.message, sizeof(watch->why.message),
		 "the kernel does not let the processes of a command be followed: %s", strerror(-r));
}

void command_follow(struct counting_watch *watch)
{
	struct counting *counting = watch->counting;
	uint32_t command = ~counting->commands & -~counting->commands; /* the lowest bit that no other one has */
	struct layers_statistics statistics;
	int r = layers_follow(counting->layers, watch->process, command);

	if (r < 0) {
		refuse(watch, r);
		return;
	}
	layers_statistics(counting->layers, &statistics);
	watch->unfollowed = statistics.unfollowed;
	watch->command = command;
	counting->commands |= command;
}

void command_leave(struct counting_watch *watch)
{
	struct counting *counting = watch->counting;

	if (!watch->command)
		return;
	counting->commands &= ~watch->command;
	processes_forget_command(counting->processes, watch->command);
	if (counting->watches)
		layers_leave(counting->layers, watch->command); /* otherwise the layers go, with all that is in them */
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that may have to wait for a disk, done by a thread of its own. At its end the main loop is notified
 * through an eventfd and continues with the result. An errand holds all that it needs: its thread
 * shares nothing with others. Main thread, unless stated otherwise.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { ERRANDS_MAX = 64 }; /* at once, including abandoned ones whose threads still run, but not unbounded ones */

struct errands {
	int notice;	      /* eventfd, not owned: its reader calls errands_see_to() */
	struct errand *first; /* under way, or done and not seen to yet */
	uint64_t rests_ns;    /* CLOCK_MONOTONIC: until then errands_take_turn() leaves the loop to others */
};

struct errand {
	/* Does the work, on the thread. */
	void (*work)(struct errand *errand);
	/* Called on the main loop after the work; takes ownership of the errand. */
	void (*done)(struct errand *errand);
	/*
	 * Called on a thread after the work, instead of `done`, if the errand was abandoned: undoes the work
	 * and frees it.
	 */
	void (*drop)(struct errand *errand);
	bool unbounded; /* it does not count against ERRANDS_MAX, as its caller has a limit of its own */
	/* Private to errand.c. */
	struct errand *next;
	struct errands *errands;
	int notice;
	_Atomic int state;
};

/*
 * Starts the thread. -EAGAIN: too many errands wait for disks that do not answer. On failure the caller keeps
 * it.
 */
int errand_begin(struct errands *errands, struct errand *errand);

/* The result is not needed any more: `drop` is called, now or when the disk answers. */
void errand_abandon(struct errand *errand);

/*
 * Waits until the errand's work is done, or until `until_ns` (CLOCK_MONOTONIC); returns whether it is. Calls
 * nothing: errands_see_to() does.
 */
bool errand_wait(const struct errand *errand, uint64_t until_ns);

/* Calls `done` for the errands that have finished. */
void errands_see_to(struct errands *errands);

/*
 * The same, but after some milliseconds it leaves the loop to others for as long as it has kept it: what many ask for must not
 * hold up one who asks for little. Returns when it is to be called again (CLOCK_MONOTONIC); 0: when the next one is done.
 */
uint64_t errands_take_turn(struct errands *errands);

/*
 * Abandons all errands, and waits until `until_ns` (CLOCK_MONOTONIC) at most for their threads. Returns false
 * if a thread is left behind: it may yet write to the eventfd, and use what was passed to it.
 */
bool errands_end(struct errands *errands, uint64_t until_ns);

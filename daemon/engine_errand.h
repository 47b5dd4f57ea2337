/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that may have to wait for a disk, done by a thread of its own. At its end the main loop is notified
 * through the engine's eventfd and continues with the result. An errand holds all that it needs: its thread
 * shares nothing with others. Main thread, unless stated otherwise.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct engine;

enum { ERRANDS_MAX = 64 }; /* at once, including abandoned ones whose threads still run */

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
	/* Private to engine_errand.c. */
	struct errand *next;
	struct engine *engine;
	int notice;
	_Atomic int state;
};

/*
 * Starts the thread. -EAGAIN: too many errands wait for disks that do not answer. On failure the caller keeps
 * it.
 */
int errand_begin(struct engine *engine, struct errand *errand);

/* The result is not needed any more: `drop` is called, now or when the disk answers. */
void errand_abandon(struct errand *errand);

/* Calls `done` for the errands that have finished. */
void errands_see_to(struct engine *engine);

/* Abandons all errands, and waits until `until_ns` (CLOCK_MONOTONIC) at most for their threads. */
void errands_end(struct engine *engine, uint64_t until_ns);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hooks on the functions of single system calls: copies of a pair of programs, verified and loaded once for each
 * function; and on inner ones, which calls go through and which tell more of them. They are attached and detached together, by
 * a thread: the kernel takes milliseconds for each, and waits for a tenth of a second when one is detached. Main thread.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stddef.h>

#include "probes/kernel.h"

struct functions;
struct probes;
struct probes_runs;

enum functions_state {
	FUNCTIONS_DETACHED, /* or only some attached, as others were not loaded yet */
	FUNCTIONS_BUSY,	    /* with that, or with loading */
	FUNCTIONS_ATTACHED,
	FUNCTIONS_FAILED, /* to attach all of them, which is logged */
};

/* How many hooks are attached: each extent has those of the one before it, too. */
enum functions_extent {
	FUNCTIONS_NONE,
	FUNCTIONS_SOURCES, /* the inner ones that tell where datagrams come from */
	FUNCTIONS_ALL,
};

/*
 * `inner`: the loaded object with programs on inner functions, or NULL. `notice`: an eventfd that is written when something
 * has changed. Any thread.
 */
int functions_new(const struct probes *probes, struct bpf_object *inner, int notice, struct functions **ret);

/*
 * Loads copies of the pair of programs that each call of the table needs, from the loaded object; NULL: the kernel
 * refused that. Without them the state is FUNCTIONS_FAILED. Any one thread.
 */
int functions_load(struct functions *functions, const struct kernel *kernel, struct bpf_object *object);

/*
 * Instead, takes copies that an earlier daemon has loaded: `take` is called with the name of each, and returns its descriptor;
 * -1: it had none, as the kernel has no such call. The same thread.
 */
void functions_take(struct functions *functions, int (*take)(const char *name, void *userdata), void *userdata);

/*
 * Takes those of `hooks`, which an earlier daemon has attached, that are of the inner programs or, after one of the two
 * above, of the copies; leaves the others, and how many they are. The same thread, before others see what the hooks are of.
 */
void functions_adopt(struct functions *functions, int *hooks, size_t *count);

/*
 * After all this: the copies can be attached. What was adopted is detached in some seconds if nobody wants it. The same thread.
 */
void functions_publish(struct functions *functions);

/* Calls with the name and the descriptor of each copy. The same thread. */
void functions_each(const struct functions *functions, void (*call)(const char *name, int program, void *userdata),
		    void *userdata);

/* What is attached then is left to a process that detaches it and ends: see leave_behind.h. Takes NULL. */
void functions_free(struct functions *functions);

/* Has those attached, the ones that failed once more, and the others detached after some seconds. Returns at once. */
void functions_want(struct functions *functions, enum functions_extent extent);

/* What was wanted last. */
enum functions_extent functions_wanted(const struct functions *functions);

/* Of all: whether they are attached. */
enum functions_state functions_state(const struct functions *functions);

/* Whether the inner hooks of the extent, which are its first ones, are attached, or could not be. */
bool functions_have_inner(const struct functions *functions, enum functions_extent extent);

/* Whether the inner program is one of FUNCTIONS_SOURCES. */
bool functions_tells_sources(const struct bpf_program *program);

/*
 * Goes through the inner programs that the thread has tried by now, from the number `*at` on: one that could not be attached, and
 * why; NULL: none, and the next call goes on with those that were tried after this one.
 */
const struct bpf_program *functions_failed_inner(const struct functions *functions, size_t *at, int *error);

/* How often the kernel skipped a program, summed over all copies; see probes_missed(). */
uint64_t functions_missed(const struct functions *functions);

/* Adds the runs of the copies, see probes_runs(). */
void functions_runs(const struct functions *functions, struct probes_runs *runs);

size_t functions_attached(const struct functions *functions);

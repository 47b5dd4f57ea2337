/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hooks on the functions of single system calls: copies of a pair of programs, verified and loaded once for each
 * function; and on those that tell the inode of a path. They are attached and detached together, by a thread: the kernel
 * takes milliseconds for each, and waits for a tenth of a second when one is detached. Main thread.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stddef.h>

#include "probes/kernel.h"

struct functions;
struct probes_runs;

enum functions_state {
	FUNCTIONS_DETACHED, /* or only some attached, as others were not loaded yet */
	FUNCTIONS_BUSY,	    /* with that, or with loading */
	FUNCTIONS_ATTACHED,
	FUNCTIONS_FAILED, /* to attach all of them, which is logged */
};

/*
 * `inodes`: the loaded object with programs for inodes, or NULL. `notice`: an eventfd that is written when something
 * has changed. Any thread.
 */
int functions_new(struct bpf_object *inodes, int notice, struct functions **ret);

/*
 * Loads copies of the pair of programs that each call of the table needs, from the loaded object; NULL: the kernel
 * refused that. Without them the state is FUNCTIONS_FAILED. Any one thread.
 */
int functions_load(struct functions *functions, const struct kernel *kernel, struct bpf_object *object);

/* What is attached then is left to a process that detaches it and ends: see leave_behind.h. Takes NULL. */
void functions_free(struct functions *functions);

/* Has all of them attached or detached, those that failed once more. Returns at once. */
void functions_attach(struct functions *functions);
void functions_detach(struct functions *functions);
enum functions_state functions_state(const struct functions *functions);

/* Whether the hooks that tell inodes are attached, as the first ones, or could not be: see functions_failed_inode(). */
bool functions_have_inodes(const struct functions *functions);

/* After that: the program, of those for inodes, from the number `*at` on that could not be attached, and why; NULL: none. */
const struct bpf_program *functions_failed_inode(const struct functions *functions, size_t *at, int *error);

/* How often the kernel skipped a program, summed over all of them; see probes_missed(). */
uint64_t functions_missed(const struct functions *functions);

/* Adds the runs of the copies, see probes_runs(). */
void functions_runs(const struct functions *functions, struct probes_runs *runs);

size_t functions_attached(const struct functions *functions);

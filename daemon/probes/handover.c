// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * At function level: from the programs on sys_enter and sys_exit, which are attached at once and stand in, to those on
 * functions, which a thread attaches meanwhile. See enum iotr_functions for what the programs do about it.
 */
#include "probes/handover.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "log.h"
#include "probes/functions.h"
#include "probes/member.h"
#include "probes/probes_private.h"

#define BATCH	1024		/* slots read at once */
#define LAST_NS 60000000000ULL /* after which nobody waits for the end of what the stand-in has seen begin */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void announce(struct probes *probes, enum iotr_functions functions)
{
	__atomic_store_n(&probes->page->functions, functions, __ATOMIC_SEQ_CST);
}

/* Lets go of the stand-in's last link: that of sys_exit is the first. */
static void link_drop(struct probes *probes, size_t left)
{
	if (probes->link_count[PROBES_CALLS] > left)
		close(probes->links[PROBES_CALLS][--probes->link_count[PROBES_CALLS]]);
}

static uint64_t word_at(const char *value, int offset)
{
	uint64_t word;

	memcpy(&word, value + offset, sizeof(word));
	return word;
}

/* Whether a slot has a call that began before then. 1, 0, or a negative errno. */
static int any_before(int map, uint32_t size, int sessions, int start, uint64_t before_ns)
{
	_cleanup_free_ char *values = malloc((size_t)size * BATCH);
	uint32_t keys[BATCH], token = 0, count;
	bool begun = false;
	int r = 0;

	if (!values)
		return -ENOMEM;
	while (r == 0) {
		count = BATCH;
		r = bpf_map_lookup_batch(map, begun ? &token : NULL, &token, keys, values, &count, NULL);
		if (r < 0 && r != -ENOENT) /* -ENOENT: the last batch, which has entries */
			return r;
		begun = true;
		for (uint32_t i = 0; i < count; i++) {
			const char *value = values + (size_t)i * size;

			if (word_at(value, sessions) && word_at(value, start) < before_ns)
				return 1;
		}
	}
	return 0;
}

/* Whether a call may be in flight whose beginning the stand-in has seen. */
static bool in_flight(const struct probes *probes)
{
	const struct bpf_object *object;
	const struct bpf_map *map = map_owner(probes, "slots", &object);
	const struct btf *btf = map ? bpf_object__btf(object) : NULL;
	uint32_t type = member_map_value(btf, "slots");
	int sessions = member_offset(btf, type, "sessions", NULL);
	int start = member_offset(btf, type, "start_ns", NULL);

	if (sessions < 0 || start < 0 || now_ns() > probes->functions_ns + LAST_NS)
		return false;
	return any_before(bpf_map__fd(map), (bpf_map__value_size(map) + 7) / 8 * 8, sessions, start,
			  probes->functions_ns) > 0;
}

static void take_over(struct probes *probes)
{
	announce(probes, IOTR_FUNCTIONS_BEGUN);
	probes_quiesce(probes);
	probes->functions_ns = now_ns();
	link_drop(probes, 1);
	log_info("system calls of files are seen on their functions now");
}

static void finish(struct probes *probes)
{
	announce(probes, IOTR_FUNCTIONS_ALONE);
	link_drop(probes, 0);
}

/* What was not attached the last time may be now. */
static void forget_inodes(struct probes *probes)
{
	probes_fail_forget(probes, PROBES_CALLS);
	probes->inodes_told = false;
}

/*
 * Where none is attached yet, that begins in the next round of the main loop: the thread would hold up what a start attaches
 * besides, as the kernel does one such thing at a time.
 */
void handover_begin(struct probes *probes)
{
	announce(probes, IOTR_FUNCTIONS_NONE);
	forget_inodes(probes);
	if (functions_state(probes->functions) == FUNCTIONS_DETACHED)
		eventfd_write(probes->notice, 1);
	else
		functions_attach(probes->functions);
}

void handover_retry(struct probes *probes)
{
	if (!probes->functions || functions_state(probes->functions) != FUNCTIONS_FAILED)
		return;
	forget_inodes(probes);
	functions_attach(probes->functions);
}

void handover_end(struct probes *probes)
{
	if (!probes->functions)
		return;
	announce(probes, IOTR_FUNCTIONS_NONE);
	functions_detach(probes->functions);
}

static bool lacks_inodes(const struct probes *probes)
{
	return probes->functions && object_of(probes, PROBES_CALLS) && !functions_have_inodes(probes->functions);
}

static bool lacks_group(const struct probes *probes, enum probes_group group)
{
	return object_of(probes, group) && !probes_is_attached(probes, group);
}

uint32_t probes_lacks(const struct probes *probes)
{
	bool sources = probes->level == PROBES_FUNCTION && lacks_group(probes, PROBES_SOURCES);

	return (uint32_t)lacks_inodes(probes) << PROBES_LACK_INODES |
	       (uint32_t)lacks_group(probes, PROBES_DIRTIED) << PROBES_LACK_DIRTIERS |
	       (uint32_t)sources << PROBES_LACK_SOURCES;
}

const char *probes_stand_in(const struct probes *probes)
{
	if (!probes->functions || !probes->attached[PROBES_CALLS] || probes->page->functions != IOTR_FUNCTIONS_NONE)
		return NULL;
	return functions_state(probes->functions) == FUNCTIONS_FAILED ?
		       "sys_enter, sys_exit: not all functions of system calls could be given their hooks" :
		       "sys_enter, sys_exit, until the functions of system calls have their hooks";
}

/* Sessions wait for the hooks that tell inodes, and so learn which of them could not be attached. */
static void tell_inodes(struct probes *probes)
{
	const struct bpf_program *program;
	size_t at = 0;
	int error;

	if (probes->inodes_told || !functions_have_inodes(probes->functions))
		return;
	while ((program = functions_failed_inode(probes->functions, &at, &error)))
		probes_fail(probes, PROBES_CALLS, bpf_program__section_name(program), error);
	probes->inodes_told = true;
}

void probes_see_to(struct probes *probes)
{
	struct functions *functions = probes->functions;

	probes_late_see_to(probes);
	if (!functions || !probes->attached[PROBES_CALLS])
		return;
	tell_inodes(probes);
	if (probes->page->functions == IOTR_FUNCTIONS_BEGUN && !in_flight(probes))
		finish(probes);
	if (probes->page->functions != IOTR_FUNCTIONS_NONE)
		return;
	if (functions_state(functions) == FUNCTIONS_ATTACHED)
		take_over(probes);
	/* It begins now, or some were not loaded yet; or hooks of an earlier daemon were found, which nobody had wanted yet. */
	else if (functions_state(functions) == FUNCTIONS_DETACHED || !functions_wanted(functions))
		functions_attach(functions);
}

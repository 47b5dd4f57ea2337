// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * At function level: from the programs on sys_enter and sys_exit, which are attached at once and stand in, to those on
 * functions, which a thread attaches meanwhile. See enum iotr_functions for what the programs do about it.
 */
#include "probes/handover.h"

#include <stddef.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "probes/functions.h"
#include "probes/map_name.h"
#include "probes/probes_private.h"
#include "probes/shared_map.h"

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

/* Whether a slot has a call that began before then. */
static int begun_before(const struct slot *slot, void *before_ns)
{
	return slot->sessions && slot->start_ns < *(const uint64_t *)before_ns;
}

/* Whether a call may be in flight whose beginning the stand-in has seen. */
static bool in_flight(struct probes *probes)
{
	if (now_ns() > probes->functions_ns + LAST_NS)
		return false;
	return shared_map_slots(probes_map(probes, SHARED_MAP), offsetof(struct iotr_shared, slots), IOTR_SLOTS, begun_before,
				&probes->functions_ns) > 0;
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
static void forget_inner(struct probes *probes)
{
	probes_fail_forget(probes, PROBES_CALLS);
	probes->inner_told = 0;
}

static enum functions_extent extent_wanted(const struct probes *probes)
{
	return probes->attached[PROBES_CALLS] ? FUNCTIONS_ALL : probes->attached[PROBES_INNER] ? FUNCTIONS_SOURCES : FUNCTIONS_NONE;
}

/*
 * Where none is attached yet, that begins in the next round of the main loop: the thread would hold up what a start attaches
 * besides, as the kernel does one such thing at a time.
 */
void handover_begin(struct probes *probes)
{
	announce(probes, IOTR_FUNCTIONS_NONE);
	forget_inner(probes);
	if (functions_state(probes->functions) == FUNCTIONS_DETACHED)
		eventfd_write(probes->notice, 1);
	else
		functions_want(probes->functions, FUNCTIONS_ALL);
}

void handover_retry(struct probes *probes)
{
	if (!probes->functions || functions_state(probes->functions) != FUNCTIONS_FAILED)
		return;
	forget_inner(probes);
	functions_want(probes->functions, FUNCTIONS_ALL);
}

static bool sources_failed(const struct functions *functions)
{
	size_t at = 0;
	int error;

	return functions_have_inner(functions, FUNCTIONS_SOURCES) && functions_failed_inner(functions, &at, &error);
}

/* System calls of files bring these hooks with them. */
void handover_sources(struct probes *probes)
{
	if (!probes->functions || probes->attached[PROBES_CALLS])
		return;
	if (functions_wanted(probes->functions) == extent_wanted(probes) && !sources_failed(probes->functions))
		return;
	probes->inner_told = 0;
	functions_want(probes->functions, extent_wanted(probes));
}

void handover_end(struct probes *probes)
{
	if (!probes->functions)
		return;
	announce(probes, IOTR_FUNCTIONS_NONE);
	if (functions_wanted(probes->functions) != extent_wanted(probes))
		functions_want(probes->functions, extent_wanted(probes));
}

static bool lacks_inner(const struct probes *probes, enum probes_group group, enum functions_extent extent)
{
	return probes->functions && object_of(probes, group) && !functions_have_inner(probes->functions, extent);
}

static bool lacks_group(const struct probes *probes, enum probes_group group)
{
	return object_of(probes, group) && !probes_is_attached(probes, group);
}

uint32_t probes_lacks(const struct probes *probes)
{
	return (uint32_t)lacks_inner(probes, PROBES_CALLS, FUNCTIONS_ALL) << PROBES_LACK_INODES |
	       (uint32_t)lacks_inner(probes, PROBES_NET, FUNCTIONS_SOURCES) << PROBES_LACK_SOURCES |
	       (uint32_t)lacks_group(probes, PROBES_DIRTIED) << PROBES_LACK_DIRTIERS;
}

const char *probes_stand_in(const struct probes *probes)
{
	if (!probes->functions || !probes->attached[PROBES_CALLS] || probes->page->functions != IOTR_FUNCTIONS_NONE)
		return NULL;
	return functions_state(probes->functions) == FUNCTIONS_FAILED ?
		       "sys_enter, sys_exit: not all functions of system calls could be given their hooks" :
		       "sys_enter, sys_exit, until the functions of system calls have their hooks";
}

/* Sessions wait for the inner hooks, and so learn which of them could not be attached. */
static void tell_inner(struct probes *probes)
{
	const struct bpf_program *program;
	int error;

	while ((program = functions_failed_inner(probes->functions, &probes->inner_told, &error)))
		probes_fail(probes, functions_tells_sources(program) ? PROBES_NET : PROBES_CALLS,
			    bpf_program__section_name(program), error);
}

void probes_see_to(struct probes *probes)
{
	struct functions *functions = probes->functions;

	probes_late_see_to(probes);
	if (!functions)
		return;
	tell_inner(probes);
	if (!probes->attached[PROBES_CALLS])
		return;
	if (probes->page->functions == IOTR_FUNCTIONS_BEGUN && !in_flight(probes))
		finish(probes);
	if (probes->page->functions != IOTR_FUNCTIONS_NONE)
		return;
	if (functions_state(functions) == FUNCTIONS_ATTACHED)
		take_over(probes);
	/* It begins now, or some were not loaded yet; or hooks of an earlier daemon were found, which nobody had wanted yet. */
	else if (functions_state(functions) == FUNCTIONS_DETACHED || functions_wanted(functions) != FUNCTIONS_ALL)
		functions_want(functions, FUNCTIONS_ALL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Attaches programs to their hooks while a session needs them. */
#include "probes/probes_private.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "probes/counted.h"
#include "probes/dirtied.h"
#include "probes/fault_events.h"
#include "probes/functions.h"
#include "probes/handover.h"
#include "probes/late.h"
#include "probes/map_empty.h"
#include "probes/program.h"

/* Adds the link to the group's, which then own it; it is closed on failure. */
static int link_keep(struct probes *probes, enum probes_group group, int link)
{
	size_t count = probes->link_count[group];
	int *links = reallocarray(probes->links[group], count + 1, sizeof(*links));

	if (!links) {
		close(link);
		return -ENOMEM;
	}
	links[count] = link;
	probes->links[group] = links;
	probes->link_count[group]++;
	return 0;
}

/* ---- what could not be attached ---- */

/* Logs a failure and adds it to the list; without memory it is only logged. Never returns NULL. */
static struct probes_failure *failure_add(struct probes *probes, enum probes_group group, const char *hook,
					  int error)
{
	static struct probes_failure unkept;
	struct probes_failure *failures = reallocarray(probes->failures, probes->failure_count + 1,
						       sizeof(*failures));
	struct probes_failure *failure = failures ? &failures[probes->failure_count] : &unkept;

	log_message(ABOUT(HOOK_MISSING, .hook = hook, .error = -error),
		    "cannot attach to %s: what it shows is not recorded until a session starts for which it can be "
		    "attached: %s", hook, strerror(-error));
	*failure = (struct probes_failure){ .group = group, .error = error };
	snprintf(failure->hook, sizeof(failure->hook), "%s", hook);
	if (failures) {
		probes->failures = failures;
		probes->failure_count++;
	}
	return failure;
}

static void failure_remove(struct probes *probes, size_t i)
{
	memmove(probes->failures + i, probes->failures + i + 1,
		(--probes->failure_count - i) * sizeof(*probes->failures));
}

void probes_fail(struct probes *probes, enum probes_group group, const char *hook, int error)
{
	failure_add(probes, group, hook, error);
}

void probes_fail_forget(struct probes *probes, enum probes_group group)
{
	for (size_t i = probes->failure_count; i-- > 0;)
		if (probes->failures[i].group == group && !probes->failures[i].program)
			failure_remove(probes, i);
}

static void failures_forget(struct probes *probes, enum probes_group group)
{
	for (size_t i = probes->failure_count; i-- > 0;)
		if (probes->failures[i].group == group)
			failure_remove(probes, i);
}

const struct probes_failure *probes_failures(const struct probes *probes, size_t *count)
{
	*count = probes->failure_count;
	return probes->failures;
}

/* ---- programs ---- */

/* `r`: what came of attaching the program, a negative errno if it failed. */
static int program_attached(struct probes *probes, enum probes_group group, struct bpf_program *program, int r)
{
	if (r >= 0 || (r == -ENOENT && on_module(program))) /* without its module there is nothing to see */
		return 0;
	failure_add(probes, group, bpf_program__section_name(program), r)->program = program;
	return r;
}

static int program_attach(struct probes *probes, enum probes_group group,
			  struct bpf_program *program)
{
	uint64_t number;
	int r;

	if (counted_number(program, &number) >= 0) {
		r = fault_events_attach(probes, program, number);
	} else {
		r = program_link(program, program_fd(probes, program));
		if (r >= 0)
			r = link_keep(probes, group, r);
	}
	return program_attached(probes, group, program, r);
}

/* Tries again to attach what failed, as the cause may be gone. */
static void failures_retry(struct probes *probes, enum probes_group group)
{
	size_t count = probes->failure_count;

	for (size_t i = 0, tried = 0; tried < count; tried++) {
		struct probes_failure failure = probes->failures[i];

		if (failure.group != group || !failure.program) {
			i++;
			continue;
		}
		failure_remove(probes, i); /* if it fails again, it is appended to the list */
		program_attach(probes, group, failure.program);
	}
}

#define NO_GROUP PROBES_GROUP_COUNT

/* Maps of events in flight, with the group of programs that fills them. */
static const struct {
	enum probes_group group;
	const char *map;
} in_flight[] = {
#define IN_FLIGHT(map, stream, group, ...) { group, #map },
	IOTR_IN_FLIGHT(IN_FLIGHT)
};

/* Whether the line is of the same map as the one before, which rows of several streams are made of. */
static bool in_flight_again(size_t i)
{
	return i > 0 && !strcmp(in_flight[i].map, in_flight[i - 1].map);
}

/* Empties the maps: events that had not ended when the programs were detached would stay there for ever. */
static void empty_in_flight(const struct probes *probes, enum probes_group group)
{
	for (size_t i = 0; i < sizeof(in_flight) / sizeof(in_flight[0]); i++) {
		bool empties = in_flight[i].group == group && !in_flight_again(i);
		const struct bpf_map *map = empties ? map_find(probes, in_flight[i].map) : NULL;

		if (map)
			map_empty(bpf_map__fd(map));
	}
}

/* Takes a hook that a thread has attached; nobody may want it any more. */
static void late_keep(struct probes *probes, enum probes_group group, const struct late_hook *hook)
{
	int r = hook->result;

	if (probes->attached[group])
		program_attached(probes, group, hook->program, r < 0 ? r : link_keep(probes, group, r));
	else if (r >= 0)
		close(r);
}

static void late_end(struct probes *probes, enum probes_group group, bool wait)
{
	if (late_take(probes, group, wait, late_keep) && !probes->attached[group])
		probes_detach(probes, group);
}

void probes_late_see_to(struct probes *probes)
{
	for (enum probes_group group = 0; group < PROBES_GROUP_COUNT; group++)
		late_end(probes, group, false);
}

bool probes_is_attached(const struct probes *probes, enum probes_group group)
{
	return probes->attached[group] && !late_busy(probes, group);
}

static int attach_now(struct probes *probes, enum probes_group group)
{
	struct bpf_program *program;
	int failed = 0, r = 0;

	if (group == PROBES_DIRTIED)
		dirtied_begin(probes);
	bpf_object__for_each_program(program, object_of(probes, group)) {
		if (!program_attaches(group, program))
			continue;
		r = program_attach(probes, group, program);
		failed = failed ?: r;
	}
	return failed;
}

/* Their hooks come and go with others on functions: see functions.h. */
static int attach_inner(struct probes *probes, bool attached)
{
	probes->attached[PROBES_INNER] = attached;
	handover_sources(probes);
	return 0;
}

int probes_attach(struct probes *probes, enum probes_group group)
{
	int failed;

	if (group == PROBES_INNER)
		return attach_inner(probes, true);
	if (probes->attached[group]) {
		failures_retry(probes, group);
		if (group == PROBES_CALLS)
			handover_retry(probes);
		return 0;
	}
	if (!object_of(probes, group))
		return -EOPNOTSUPP;
	probes->attached[group] = true;
	if (late_busy(probes, group)) /* it was detached and is wanted again, before it was attached */
		return 0;
	empty_in_flight(probes, group);
	failures_forget(probes, group);
	if (late_begin(probes, group))
		return 0;
	failed = attach_now(probes, group);
	if (group == PROBES_CALLS && probes->functions) {
		handover_begin(probes);
		return 0;
	}
	if (failed && !probes->link_count[group])
		probes->attached[group] = false;
	return probes->link_count[group] ? 0 : failed;
}

/* What a thread is attaching is let go of when it has done so: see late_keep(). */
void probes_detach(struct probes *probes, enum probes_group group)
{
	if (group == PROBES_INNER)
		attach_inner(probes, false);
	probes->attached[group] = false;
	if (late_busy(probes, group))
		return;
	if (group == PROBES_CALLS)
		handover_end(probes);
	while (probes->link_count[group])
		close(probes->links[group][--probes->link_count[group]]);
	free(probes->links[group]);
	probes->links[group] = NULL;
	if (group == PROBES_PAGEFAULT)
		fault_events_close(probes);
	if (group == PROBES_DIRTIED)
		dirtied_end(probes);
	failures_forget(probes, group);
}

void probes_detach_all(struct probes *probes)
{
	for (enum probes_group group = 0; group < PROBES_GROUP_COUNT; group++) {
		probes_detach(probes, group);
		late_end(probes, group, true);
	}
}

size_t probes_attached(const struct probes *probes)
{
	size_t count = probes->functions ? functions_attached(probes->functions) : 0;

	for (enum probes_group group = 0; group < PROBES_GROUP_COUNT; group++)
		count += probes->link_count[group];
	count += probes->fault_event_count;
	return count;
}

/* Updating a map of maps waits until all programs that run have ended; no other system call does that alone. */
void probes_quiesce(struct probes *probes)
{
	uint32_t zero = 0;

	bpf_map_update_elem(probes_map(probes, "rings"), &zero, &probes->rings[0], BPF_ANY);
}

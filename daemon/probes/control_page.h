/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions as the kernel side sees them: mask bits, filters and thresholds on the control page and in
 * the filter maps. `session` is a slot. Main thread.
 */
#pragma once

#include "probes/filter_error.h"
#include "probes/paths_find.h"
#include "probes/probes.h"
#include "session_spec.h"

/* Checks that what the filters name exists, except for paths. -EINVAL: the error says what does not. */
int control_page_check(const struct iotr_session_spec *spec, struct filter_error *error);

/*
 * Sets the session's filters and operations; events are not recorded for it before control_page_open().
 * `paths` is the result of paths_find() for the spec, NULL if that has no paths.
 */
int control_page_prepare(struct probes *probes, unsigned int session, const struct iotr_session_spec *spec,
			 const struct paths_found *paths, struct filter_error *error);

/*
 * Events that begin from now on are recorded for the session, `instead` of another slot (-1: none): each
 * event is recorded for one of the two from its start to its end, never for both.
 */
void control_page_open(struct probes *probes, unsigned int session, int instead);

/* No event begins for these slots any more, a bit each; those in flight are recorded when they end, until the slot is cleared. */
void control_page_shut(struct probes *probes, uint64_t slots);

/* Adds the processes that slot `from` follows to those that the session follows; both follow descendants. */
int control_page_inherit(struct probes *probes, unsigned int session, unsigned int from);

/*
 * Adds or removes a process whose events the session accepts; it follows descendants of those added. A process
 * for which there is no room is counted, see control_page_unfollowed().
 */
int control_page_follow(struct probes *probes, unsigned int session, uint32_t process);
void control_page_unfollow(struct probes *probes, unsigned int session, uint32_t process);

/* Processes for which there was no room, since the daemon's start, for all sessions that the slot has had. */
uint64_t control_page_unfollowed(struct probes *probes, unsigned int session);

/* Whether the kernel's types tell which file a loop device has; not before its module is loaded. */
bool control_page_loops_known(struct probes *probes);

/* Whether they tell for whom XFS and btrfs write their logs, as far as these are loaded. */
bool control_page_logs_known(struct probes *probes);

/* Whether programs know files on btrfs by their subvolume, or there is none: it is not loaded or, if `mounted`, not mounted. */
bool control_page_subvolumes_known(const struct probes *probes, bool mounted);

/* Pages whose dirtier was forgotten before they were seen written, since the daemon's start: see bpf/dirtied.bpf.h. */
uint64_t control_page_forgotten(struct probes *probes);

/* control_page_prepare() and control_page_open(). */
int control_page_set(struct probes *probes, unsigned int session, const struct iotr_session_spec *spec,
		     const struct paths_found *paths, struct filter_error *error);

/* Removes the session's filters and operations; when it returns, no program emits for the session any more. */
void control_page_clear(struct probes *probes, unsigned int session);

/* Finds the kernel's numbers of operations and flags of block requests. To be called once. */
void control_page_block(struct probes *probes, const char *flag_names[32]);

/*
 * Updates what the page has of functions in modules, if such a module was loaded or unloaded. To be called when a
 * session begins, and now and then. It reads the kernel's symbols only if a folder in sysfs has changed.
 */
void control_page_modules(struct probes *probes);

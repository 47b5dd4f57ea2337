/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a session is told of the cgroups that its rows name. Main thread. */
#pragma once

#include "session/session.h"

/* Before its first row. */
void groups_tell_begin(struct session *session);

/* Each second: hands a new list to its sink if there is something new, and that takes little of the time. */
void groups_tell(struct session *session);

/* After its last row: hands the last list to its sink. Does nothing for a session that has not begun. */
void groups_tell_end(struct session *session);

/* New list for rows from then on (CLOCK_MONOTONIC), or NULL. */
struct cgroup_list *groups_tell_list(const struct session *session, uint64_t since_ns);

/* Time of the oldest row that it may still write (CLOCK_MONOTONIC): it needs no cgroup that had vanished by then. */
uint64_t groups_tell_needed(const struct session *session);

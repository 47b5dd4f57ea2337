// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/groups_tell.h"

#include "pipeline/clocks.h"
#include "session/groups.h"
#include "session/memory_sink.h"

#define LEAST_NS 1000000000ULL /* between two lists of a session */
#define SHARE	 1000	       /* and that many times what one takes of the main thread */

void groups_tell_begin(struct session *session)
{
	groups_begin(session->context->groups);
	session->groups.begun = true;
	session->groups.since_ns = clocks_mono_ns();
}

void groups_tell(struct session *session)
{
	uint64_t now = clocks_mono_ns(), version = groups_version(session->context->groups);
	struct cgroup_list *list;

	if (!session->sink->ops->cgroups || !session->groups.begun || version == session->groups.version ||
	    now < session->groups.next_ns)
		return;
	list = groups_list(session->context->groups, session->groups.since_ns);
	session->groups.version = version;
	session->groups.next_ns = now + LEAST_NS + SHARE * (clocks_mono_ns() - now);
	if (list)
		session->sink->ops->cgroups(session->sink, list, false);
}

void groups_tell_end(struct session *session)
{
	const struct row_sink_ops *ops = session->sink->ops;
	struct cgroup_list *list = NULL;

	if (!session->groups.begun)
		return;
	session->groups.begun = false;
	if (ops->cgroups && session->state != SESSION_ABORTING)
		list = groups_list(session->context->groups, session->groups.since_ns);
	if (list)
		ops->cgroups(session->sink, list, true);
	groups_end(session->context->groups);
}

struct cgroup_list *groups_tell_list(const struct session *session, uint64_t since_ns)
{
	return groups_list(session->context->groups, since_ns);
}

uint64_t groups_tell_needed(const struct session *session)
{
	const struct memory_sink *memory = memory_sink_of(session->sink);
	struct recorder_memory kept;

	if (!session->groups.begun)
		return UINT64_MAX;
	if (!memory)
		return session->groups.since_ns;
	recorder_memory(memory->recorder, &kept);
	return kept.reaches_ns;
}

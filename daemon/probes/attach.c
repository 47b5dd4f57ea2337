// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs and their hooks: attached while a session wants them. */
#include "probes/probes_private.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "probes/counted.h"
#include "probes/functions.h"

/* Takes the link. */
static int link_keep(struct probes *probes, enum probes_group group, struct bpf_link *link)
{
	size_t count = probes->link_count[group];
	struct bpf_link **links = reallocarray(probes->links[group], count + 1, sizeof(*links));

	if (!links) {
		bpf_link__destroy(link);
		return -ENOMEM;
	}
	links[count] = link;
	probes->links[group] = links;
	probes->link_count[group]++;
	return 0;
}

static int attach_failed(const struct bpf_program *program, int r)
{
	log_warning("cannot attach %s: %s", bpf_program__section_name(program), strerror(-r));
	return r;
}

/* Takes the event. */
static int event_keep(struct probes *probes, int event)
{
	size_t count = probes->fault_event_count;
	int *events = reallocarray(probes->fault_events, count + 1, sizeof(*events));

	if (!events) {
		close(event);
		return -ENOMEM;
	}
	events[count] = event;
	probes->fault_events = events;
	probes->fault_event_count++;
	return 0;
}

static void events_close(struct probes *probes)
{
	while (probes->fault_event_count)
		close(probes->fault_events[--probes->fault_event_count]);
	free(probes->fault_events);
	probes->fault_events = NULL;
}

uint64_t probes_fault_period(struct probes *probes, uint64_t period)
{
	int r = 0;

	if (period == probes->fault_period)
		return period;
	probes->fault_period = period;
	for (size_t i = 0; i < probes->fault_event_count && r >= 0; i++)
		r = counted_period(probes->fault_events[i], period);
	if (r >= 0)
		return period;
	log_warning("cannot have perf leave out page faults: %s", strerror(-r));
	return period > 1 ? probes_fault_period(probes, 1) : period;
}

/* CPUs that come later are not seen. */
static int program_attach_counted(struct probes *probes, enum probes_group group,
				  const struct bpf_program *program, uint64_t number)
{
	int cpus = libbpf_num_possible_cpus(), r = 0, event;
	struct bpf_link *link;

	for (int cpu = 0; cpu < cpus && r >= 0; cpu++) {
		r = counted_attach(program, number, cpu, probes->fault_period, &event, &link);
		if (r >= 0) {
			int kept = event_keep(probes, event);

			r = link_keep(probes, group, link);
			r = r < 0 ? r : kept;
		} else if (r == -ENODEV) {
			r = 0;
		}
	}
	return r < 0 ? attach_failed(program, r) : 0;
}

static int program_attach(struct probes *probes, enum probes_group group,
			  struct bpf_program *program)
{
	struct bpf_link *link;
	uint64_t number;

	if (counted_number(program, &number) >= 0)
		return program_attach_counted(probes, group, program, number);
	link = bpf_program__attach(program);
	return link ? link_keep(probes, group, link) : attach_failed(program, -errno);
}

/* Maps of what is under way. */
static const struct {
	enum probes_group group;
	const char *map;
} under_way[] = {
	{ PROBES_BLOCK, "requests" },
	{ PROBES_BLOCK, "bio_rows" },
	{ PROBES_ASYNC, "aio_pendings" },
	{ PROBES_ASYNC, "uring_pendings" },
	{ PROBES_ASYNC, "uring_pending_repeats" },
	{ PROBES_CACHE, "writebacks" },
	{ PROBES_IOURING, "ring_requests" },
	{ PROBES_IOURING, "ring_repeats" },
	{ PROBES_NET_URING, "net_requests" },
	{ PROBES_NET_URING, "net_repeats" },
	{ PROBES_CONN, "closing" },
	{ PROBES_CONN, "connect_claims" },
	{ PROBES_CONN, "connects" },
	{ PROBES_CONN_URING, "conn_requests" },
	{ PROBES_CONN_URING, "conn_repeats" },
};

static void map_empty(int map)
{
	uint64_t key[2]; /* the largest that these maps have */

	while (bpf_map_get_next_key(map, NULL, key) == 0)
		bpf_map_delete_elem(map, key);
}

/* What had not ended when the programs were detached would stay for ever. */
static void forget_under_way(const struct probes *probes, enum probes_group group)
{
	for (size_t i = 0; i < sizeof(under_way) / sizeof(under_way[0]); i++)
		if (under_way[i].group == group)
			map_empty(probes_map(probes, under_way[i].map));
}

int probes_attach(struct probes *probes, enum probes_group group)
{
	struct bpf_object *object = object_of(probes, group);
	struct bpf_program *program;
	int failed = 0, r = 0;

	if (probes->attached[group])
		return 0;
	if (!object)
		return -EOPNOTSUPP;
	probes->attached[group] = true;
	forget_under_way(probes, group);
	if (group == PROBES_CALLS && probes->functions)
		return functions_attach(probes->functions);
	bpf_object__for_each_program(program, object) {
		if (!program_attaches(group, program))
			continue;
		r = program_attach(probes, group, program);
		failed = failed ?: r;
	}
	if (!probes->link_count[group])
		probes->attached[group] = false;
	return probes->link_count[group] ? 0 : failed;
}

void probes_detach(struct probes *probes, enum probes_group group)
{
	if (group == PROBES_CALLS && probes->functions)
		functions_detach(probes->functions);
	while (probes->link_count[group])
		bpf_link__destroy(probes->links[group][--probes->link_count[group]]);
	free(probes->links[group]);
	probes->links[group] = NULL;
	if (group == PROBES_PAGEFAULT)
		events_close(probes);
	probes->attached[group] = false;
}

size_t probes_attached(const struct probes *probes)
{
	size_t count = probes->functions ? functions_attached(probes->functions) : 0;

	for (enum probes_group group = 0; group < PROBES_GROUP_COUNT; group++)
		count += probes->link_count[group];
	return count;
}

/* Updating a map of maps waits for all programs that run: what we want, and nothing else does it. */
void probes_quiesce(struct probes *probes)
{
	uint32_t zero = 0;

	bpf_map_update_elem(probes_map(probes, "rings"), &zero, &probes->rings[0], BPF_ANY);
}

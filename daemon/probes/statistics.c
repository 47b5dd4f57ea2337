// SPDX-License-Identifier: GPL-2.0-or-later
/* What the programs counted, how often they ran or were skipped, and what memory their maps take. */
#include "probes/probes_private.h"

#include <bpf/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "probes/clone.h"
#include "probes/functions.h"
#include "probes/map_name.h"
#include "probes/program.h"

/* ---- rows ---- */

/* The stream's counters, an array by CPU for the caller to free; NULL: they cannot be read. */
static struct iotr_counters *counters_read(const struct probes *probes, enum iotr_stream stream, int cpus)
{
	struct iotr_counters *counters = calloc(cpus, sizeof(*counters));
	uint32_t key = stream;

	if (!counters || bpf_map_lookup_elem(probes_map(probes, "counters"), &key, counters) >= 0)
		return counters;
	free(counters);
	return NULL;
}

static void counters_add(const struct iotr_counters *counters, unsigned int session, struct probes_loss *loss)
{
	loss->emitted += counters->emitted[session];
	loss->ring += counters->ring[session];
	loss->unmatched += counters->unmatched[session];
}

void probes_loss(const struct probes *probes, enum iotr_stream stream, unsigned int session,
		 struct probes_loss *loss)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct iotr_counters *counters = counters_read(probes, stream, cpus);

	memset(loss, 0, sizeof(*loss));
	for (int cpu = 0; counters && cpu < cpus; cpu++)
		counters_add(&counters[cpu], session, loss);
}

bool probes_losses(const struct probes *probes, enum iotr_stream stream, struct probes_loss *losses,
		   size_t count)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct iotr_counters *counters = counters_read(probes, stream, cpus);

	memset(losses, 0, count * sizeof(*losses));
	for (int cpu = 0; counters && cpu < cpus; cpu++)
		for (size_t session = 0; session < count; session++)
			counters_add(&counters[cpu], session, &losses[session]);
	return counters;
}

/* ---- runs of programs ---- */

static uint64_t group_missed(const struct probes *probes, enum probes_group group)
{
	struct bpf_object *object = object_of(probes, group);
	struct bpf_program *program;
	uint64_t missed = 0;

	if (!object)
		return 0;
	bpf_object__for_each_program(program, object)
		if (program_attaches(group, program))
			missed += program_missed(program_fd(probes, program));
	return missed;
}

uint64_t probes_missed(const struct probes *probes, uint32_t groups)
{
	uint64_t missed = 0;

	groups = probes_groups(probes, groups);
	if (groups >> PROBES_CACHE_EXIT & 1)
		groups |= 1U << PROBES_EXITS; /* either of them goes to CACHE's program */
	if (groups >> PROBES_CALLS & 1 && probes->functions)
		missed += functions_missed(probes->functions);
	for (enum probes_group group = 0; group < PROBES_GROUP_COUNT; group++)
		if (groups >> group & 1)
			missed += group_missed(probes, group);
	return missed;
}

void probes_runs(const struct probes *probes, struct probes_runs *runs)
{
	struct bpf_program *program;

	*runs = (struct probes_runs){ 0 };
	if (probes->functions)
		functions_runs(probes->functions, runs);
	for (size_t i = 0; i < OBJECT_COUNT; i++) {
		if (!probes->objects[i])
			continue;
		bpf_object__for_each_program(program, probes->objects[i])
			program_runs(program_fd(probes, program), runs);
	}
}

/* ---- memory ---- */

uint64_t map_memory(int fd)
{
	char path[64], line[128];
	_cleanup_fclose_ FILE *file = NULL;
	uint64_t bytes = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "memlock: %lu", &bytes) == 1)
			break;
	return bytes;
}

uint64_t probes_memory(const struct probes *probes)
{
	uint64_t bytes = 0;
	struct bpf_map *map;

	for (size_t i = 0; i < OBJECT_COUNT; i++) {
		if (!probes->objects[i])
			continue;
		bpf_object__for_each_map(map, probes->objects[i]) {
			const char *name = map_shared_name(map);

			if (name && map_find(probes, name) == map)
				bytes += map_memory(bpf_map__fd(map));
		}
	}
	for (size_t i = 0; i < DIRTIED_TABLES; i++)
		bytes += probes->dirtied[i] < 0 ? 0 : map_memory(probes->dirtied[i]);
	for (size_t i = 1; i < probes->ring_count; i++) /* the first one is a map of the objects, too */
		bytes += map_memory(probes->rings[i]);
	return bytes;
}

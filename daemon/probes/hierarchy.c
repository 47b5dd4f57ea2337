// SPDX-License-Identifier: GPL-2.0-or-later
/* The programs of bpf/hierarchy.bpf.c. */
#include "probes/hierarchy.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "cleanup.h"

extern const unsigned char iotr_bpf_hierarchy_begin[], iotr_bpf_hierarchy_end[];

static const char *const programs[] = { "hierarchy_made", "hierarchy_gone" };

enum { PROGRAMS = sizeof(programs) / sizeof(programs[0]) };

struct hierarchy {
	struct bpf_object *object;
	struct bpf_link *links[PROGRAMS];
	struct ring_buffer *ring;
	sd_event_source *source;
	hierarchy_handler handler;
	void *userdata;
};

DEFINE_CLEANUP(struct hierarchy *, hierarchy_free);

/* ---- events ---- */

static int on_event(void *userdata, void *bytes, size_t size)
{
	const struct hierarchy *hierarchy = userdata;

	if (size >= sizeof(struct iotr_cgroup_event))
		hierarchy->handler(bytes, hierarchy->userdata);
	return 0;
}

static int on_ring(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source, (void)fd, (void)events;
	hierarchy_drain(userdata);
	return 0;
}

void hierarchy_drain(struct hierarchy *hierarchy)
{
	if (hierarchy->links[0])
		ring_buffer__consume(hierarchy->ring);
}

static int map_of(const struct hierarchy *hierarchy, const char *name)
{
	return bpf_object__find_map_fd_by_name(hierarchy->object, name);
}

uint64_t hierarchy_lost(const struct hierarchy *hierarchy)
{
	uint32_t zero = 0;
	uint64_t lost = 0;

	bpf_map_lookup_elem(map_of(hierarchy, "cgroup_events_lost"), &zero, &lost);
	return lost;
}

/* ---- life ---- */

int hierarchy_load(struct hierarchy **ret)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "hierarchy");
	_cleanup_(hierarchy_freep) struct hierarchy *hierarchy = calloc(1, sizeof(*hierarchy));
	int r;

	if (!hierarchy)
		return -ENOMEM;
	hierarchy->object = bpf_object__open_mem(
		iotr_bpf_hierarchy_begin, (size_t)(iotr_bpf_hierarchy_end - iotr_bpf_hierarchy_begin), &options);
	if (!hierarchy->object)
		return -errno;
	r = bpf_object__load(hierarchy->object);
	if (r < 0)
		return r;
	hierarchy->ring = ring_buffer__new(map_of(hierarchy, "cgroup_events"), on_event, hierarchy, NULL);
	if (!hierarchy->ring)
		return -errno;
	*ret = TAKE(hierarchy);
	return 0;
}

static int attach(struct hierarchy *hierarchy, size_t which)
{
	struct bpf_program *program = bpf_object__find_program_by_name(hierarchy->object, programs[which]);

	hierarchy->links[which] = program ? bpf_program__attach(program) : NULL;
	if (hierarchy->links[which])
		return 0;
	return program ? -errno : -ENOENT;
}

int hierarchy_attach(struct hierarchy *hierarchy, sd_event *event, hierarchy_handler handler, void *userdata)
{
	int r = sd_event_add_io(event, &hierarchy->source, ring_buffer__epoll_fd(hierarchy->ring), EPOLLIN, on_ring,
				hierarchy);

	hierarchy->handler = handler;
	hierarchy->userdata = userdata;
	for (size_t i = 0; r >= 0 && i < PROGRAMS; i++)
		r = attach(hierarchy, i);
	if (r < 0)
		hierarchy_detach(hierarchy);
	return r;
}

void hierarchy_detach(struct hierarchy *hierarchy)
{
	hierarchy_drain(hierarchy);
	for (size_t i = 0; i < PROGRAMS; i++)
		if (hierarchy->links[i])
			bpf_link__destroy(TAKE(hierarchy->links[i]));
	hierarchy->source = sd_event_source_disable_unref(hierarchy->source);
}

void hierarchy_free(struct hierarchy *hierarchy)
{
	if (!hierarchy)
		return;
	if (hierarchy->source)
		hierarchy_detach(hierarchy);
	ring_buffer__free(hierarchy->ring);
	bpf_object__close(hierarchy->object);
	free(hierarchy);
}

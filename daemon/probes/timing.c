// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/timing.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "probes/calls.h"
#include "probes/probes_private.h"

extern const unsigned char iotr_bpf_timing_begin[], iotr_bpf_timing_end[];

enum {
	PROGRAMS = 8, /* at most */
};

struct timing {
	const struct probes *probes;
	struct bpf_object *object;
	struct bpf_link *links[PROGRAMS];
	size_t link_count;
	struct iotr_timing *read; /* room for one watch's counts, by CPU */
	int cpus;
};

DEFINE_CLEANUP(struct timing *, timing_free);

static int map_of(const struct timing *timing, const char *name)
{
	return bpf_object__find_map_fd_by_name(timing->object, name);
}

/* ---- loading and attaching ---- */

static int load(struct timing *timing)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "timing");
	int r;

	timing->object = bpf_object__open_mem(iotr_bpf_timing_begin,
					      (size_t)(iotr_bpf_timing_end - iotr_bpf_timing_begin), &options);
	if (!timing->object)
		return -errno;
	r = object_prepare(timing->probes, timing->object);
	return r < 0 ? r : bpf_object__load(timing->object);
}

int timing_load(struct probes *probes, struct timing **ret, char *why, size_t why_size)
{
	_cleanup_(timing_freep) struct timing *timing = calloc(1, sizeof(*timing));
	int r = -ENOMEM;

	if (timing) {
		timing->probes = probes;
		timing->cpus = libbpf_num_possible_cpus();
		timing->read = calloc((size_t)timing->cpus, sizeof(*timing->read));
	}
	if (timing && timing->read)
		r = kernel_use(&probes->kernel);
	if (r >= 0) {
		r = load(timing);
		kernel_leave(&probes->kernel);
	}
	if (r < 0) {
		snprintf(why, why_size, "the kernel does not load the BPF programs that time operations: %s",
			 probes->kernel.refusal ?: strerror(-r));
		return r;
	}
	*ret = TAKE(timing);
	return 0;
}

int timing_attach(struct timing *timing, char *why, size_t why_size)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, timing->object) {
		struct bpf_link *link;
		int r;

		if (!bpf_program__autoload(program) || timing->link_count == PROGRAMS)
			continue;
		link = bpf_program__attach(program);
		r = -errno;
		if (!link) {
			snprintf(why, why_size, "the kernel does not let a program be attached to %s, which times operations: %s",
				 bpf_program__section_name(program), strerror(-r));
			return r;
		}
		timing->links[timing->link_count++] = link;
	}
	return 0;
}

void timing_free(struct timing *timing)
{
	if (!timing)
		return;
	while (timing->link_count)
		bpf_link__destroy(timing->links[--timing->link_count]);
	bpf_object__close(timing->object);
	free(timing->read);
	free(timing);
}

/* ---- watches ---- */

/* The watch of an operation plus 1; 0: there is none. */
static uint8_t watch_of(const struct timing_operation *operations, size_t count, enum iotr_stream stream, unsigned int operation)
{
	for (size_t i = 0; i < count; i++)
		if (operations[i].stream == stream && operations[i].operation == operation)
			return (uint8_t)(i + 1);
	return 0;
}

/* The operation that a call may be instead of its own, and what decides; -1: there is none. */
static int other_of(const struct iotr_call *call, uint8_t *kind)
{
	if (call->traits & IOTR_CALL_REMOVEDIR) {
		*kind = IOTR_TIMED_REMOVES;
		return IOTR_VFS_RMDIR;
	}
	if (call->traits & IOTR_CALL_DIRECT) {
		*kind = IOTR_TIMED_DIRECT;
		return call->operation == IOTR_VFS_READ ? IOTR_VFS_DIO_READ : IOTR_VFS_DIO_WRITE;
	}
	*kind = call->traits & IOTR_CALL_OPENS ? IOTR_TIMED_OPENS :
		call->traits & IOTR_CALL_LOCKS ? IOTR_TIMED_LOCKS :
						 IOTR_TIMED_PLAIN;
	return -1;
}

static void fill_call(const struct call *call, const struct timing_operation *operations, size_t count,
		      struct iotr_timing_table *table)
{
	/* libaio, and calls that are an operation of vfs only now and then, are not timed. */
	const uint32_t never = IOTR_CALL_SUBMITS | IOTR_CALL_REAPS | IOTR_CALL_REPLACES | IOTR_CALL_CLONES;
	struct iotr_timed_call row = { .watch = watch_of(operations, count, IOTR_VFS, call->row.operation) };
	int other = other_of(&call->row, &row.kind);

	if (call->row.traits & never)
		return;
	if (other >= 0)
		row.other = watch_of(operations, count, IOTR_VFS, (unsigned int)other);
	row.fd = call->row.traits & IOTR_CALL_OPENS ? 0 : call->row.fd;
	if (!row.watch && !row.other)
		return;
	if (call->native >= 0)
		table->calls[IOTR_ABI_NATIVE][call->native] = row;
	if (call->compat >= 0)
		table->calls[IOTR_ABI_COMPAT][call->compat] = row;
}

int timing_watch(struct timing *timing, const struct timing_operation *operations, size_t count)
{
	_cleanup_free_ struct iotr_timing_table *table = calloc(1, sizeof(*table));
	uint32_t zero = 0;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < call_count; i++)
		fill_call(&calls[i], operations, count, table);
	for (size_t i = 0; i < sizeof(table->block); i++)
		table->block[i] = watch_of(operations, count, IOTR_BLOCK, timing->probes->page->block_operation[i]);
	return bpf_map_update_elem(map_of(timing, "timing_table"), &zero, table, BPF_ANY) < 0 ? -errno : 0;
}

int timing_read(struct timing *timing, size_t watch, struct iotr_timing *ret)
{
	uint32_t index = (uint32_t)watch;

	*ret = (struct iotr_timing){ 0 };
	if (bpf_map_lookup_elem(map_of(timing, "timing_counts"), &index, timing->read) < 0)
		return -errno;
	for (int cpu = 0; cpu < timing->cpus; cpu++) {
		const struct iotr_timing *one = &timing->read[cpu];

		ret->ended += one->ended;
		ret->failed += one->failed;
		ret->latency_ns += one->latency_ns;
		for (size_t i = 0; i < IOTR_TIMING_BUCKETS; i++)
			ret->latency[i] += one->latency[i];
		for (size_t i = 0; i < IOTR_TIMING_ERRNOS; i++)
			ret->errnos[i] += one->errnos[i];
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel side as a whole: made, freed, and what the rest of the daemon sees of it. */
#include "probes/probes_private.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cleanup.h"
#include "log.h"
#include "probes/functions.h"
#include "probes/hooks.h"
#include "probes/inherit.h"
#include "probes/map_name.h"
#include "probes/own.h"
#include "probes/program.h"

#define RING_BYTES  (16U << 20) /* of a row ring at most, and 1 MiB at least */
#define RINGS_BYTES (32U << 20) /* of all row rings */

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char line[1024];

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(line), format, arguments);
	line[strcspn(line, "\n")] = '\0';
	log_debug("libbpf: %s", line);
	return 0;
}

/* ---- rings and pages ---- */

static uint32_t usual_ring_size(uint32_t count)
{
	uint32_t bytes = RING_BYTES;

	while (bytes * count > RINGS_BYTES && bytes > 1U << 20)
		bytes /= 2;
	return bytes;
}

static int rings_create(struct probes *probes, uint32_t bytes)
{
	int cpus = libbpf_num_possible_cpus();

	probes->ring_count = cpus > CPUS_PER_RING ? (cpus + CPUS_PER_RING - 1) / CPUS_PER_RING : 1;
	if (probes->ring_count > RINGS_MAX)
		probes->ring_count = RINGS_MAX;
	bytes = bytes ?: usual_ring_size(probes->ring_count);
	if (inherit_rings(probes, probes->rings, probes->ring_count, bytes))
		return 0;
	inherit_end(probes); /* the last daemon's programs have other rings */
	for (uint32_t i = 0; i < probes->ring_count; i++) {
		probes->rings[i] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "row_ring", 0, 0, bytes, NULL);
		if (probes->rings[i] < 0)
			return probes->rings[i];
	}
	return 0;
}

/* Puts the rings into their map, where several are. Those that were inherited are there. */
static int rings_put(const struct probes *probes)
{
	int outer = probes_map(probes, "rings");

	for (uint32_t i = 0; i < probes->ring_count; i++)
		if (bpf_map_update_elem(outer, &i, &probes->rings[i], BPF_ANY) < 0)
			return -errno;
	return 0;
}

static int page_map(int fd, size_t size, void *ret)
{
	void *address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (address == MAP_FAILED)
		return -errno;
	*(void **)ret = address;
	return 0;
}

static size_t page_round(size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

static int pages_map(struct probes *probes)
{
	int r = page_map(probes_map(probes, SHARED_MAP), page_round(sizeof(*probes->page)),
			 &probes->page);

	if (r < 0)
		return r;
	own_add(probes, getpid());
	return page_map(probes_map(probes, "known"), IOTR_KNOWN * sizeof(uint64_t), &probes->known);
}

/* ---- life ---- */

static int level_choose(struct probes *probes, enum probes_level level, char *why, size_t why_size)
{
	if (level == PROBES_FUNCTION && !probes->kernel.function_hooks) {
		snprintf(why, why_size, "this kernel has no function level: %s",
			 probes->kernel.function_reason);
		return -EOPNOTSUPP;
	}
	probes->level = level != PROBES_AUTO	      ? level :
			probes->kernel.function_hooks ? PROBES_FUNCTION :
							PROBES_TRACEPOINT;
	return 0;
}

static int shared_load(struct probes *probes, uint32_t ring_size, char *why, size_t why_size)
{
	int r = rings_create(probes, ring_size);

	if (r >= 0)
		r = objects_load_shared(probes);
	if (r >= 0 && !probes->bequest)
		r = rings_put(probes);
	if (r >= 0)
		r = pages_map(probes);
	if (r < 0)
		snprintf(why, why_size, "cannot create BPF maps: %s%s", strerror(-r),
			 r == -EPERM ? "; run the daemon as root" : "");
	return r;
}

static int first_load(struct probes *probes, const struct probes_config *config, char *why, size_t why_size)
{
	int r = kernel_open(&probes->kernel);

	if (r < 0) {
		snprintf(why, why_size, "cannot read /sys/kernel/btf/vmlinux: %s; "
			 "a kernel with CONFIG_DEBUG_INFO_BTF is needed", strerror(-r));
		return r;
	}
	probes->objects_hash = objects_hash();
	kernel_find_hooks(&probes->kernel, inherit_is_of(probes, config->bequest, PROBES_FUNCTION));
	r = level_choose(probes, config->level, why, why_size);
	if (r < 0)
		return r;
	if (probes->kernel.refusal)
		log_message(ABOUT(HOOK_MISSING, .hook = "bpf_probe_read_kernel"), "nothing can be recorded: %s",
			    probes->kernel.refusal);
	inherit_begin(probes, config->bequest, config->hooks);
	return shared_load(probes, config->ring_size, why, why_size);
}

int probes_new(const struct probes_config *config, struct probes **ret, char *why, size_t why_size)
{
	struct probes *probes = calloc(1, sizeof(*probes));
	int r;

	if (!probes)
		return -ENOMEM;
	probes->fault_period = 1;
	probes->symbols = config->symbols;
	probes->notice = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	libbpf_set_print(print_libbpf);
	for (size_t i = 0; i < RINGS_MAX; i++)
		probes->rings[i] = -1;
	for (size_t i = 0; i < DIRTIED_TABLES; i++)
		probes->dirtied[i] = -1;
	r = probes->notice < 0 ? -errno : first_load(probes, config, why, why_size);
	if (r < 0) {
		probes_free(probes);
		return r;
	}
	*ret = probes;
	return 0;
}

static void inherited_done(struct inherited *inherited)
{
	while (inherited->count)
		close(inherited->programs[--inherited->count].fd);
	free(inherited->programs);
}

void probes_free(struct probes *probes)
{
	if (!probes || !loading_free(probes))
		return;
	probes_detach_all(probes);
	functions_free(probes->functions);
	inherit_end(probes);
	free(probes->failures);
	if (probes->page)
		munmap(probes->page, page_round(sizeof(*probes->page)));
	if (probes->known)
		munmap(probes->known, IOTR_KNOWN * sizeof(uint64_t));
	for (size_t i = 0; i < RINGS_MAX; i++)
		closep(&probes->rings[i]);
	for (size_t i = OBJECT_COUNT; i-- > 0;) {
		bpf_object__close(probes->objects[i]);
		inherited_done(&probes->inherited[i]);
	}
	kernel_done(&probes->kernel);
	closep(&probes->notice);
	free(probes);
}

/* ---- what the rest of the daemon sees ---- */

uint32_t probes_stream_groups(enum iotr_stream stream)
{
	enum {
		NO_CALLS = 0,
		CALLS = 1U << PROBES_CALLS,
		PLUGGED = 1U << PROBES_ENTERS | 1U << PROBES_EXITS,
		OWN_EXIT = 1U << PROBES_CACHE_EXIT,
	};
#define OWN(id, name, folder, object, calls, ...) [IOTR_##id] = 1U << PROBES_##id | (calls),
	static const uint32_t own[IOTR_STREAM_COUNT] = { IOTR_STREAMS(OWN) };
	uint32_t groups = own[stream];

#define FURTHER(id, object, of)                                                                                        \
	if (stream == IOTR_##of)                                                                                       \
		groups |= 1U << PROBES_##id;
	IOTR_FURTHER_OBJECTS(FURTHER)
#define SHARED(of, other)                                                                                              \
	if (stream == IOTR_##of)                                                                                       \
		groups |= 1U << PROBES_##other;
	IOTR_SHARED_GROUPS(SHARED)
	return groups;
}

uint32_t probes_groups(const struct probes *probes, uint32_t groups)
{
	const uint32_t calls = 1U << PROBES_CALLS;

	if (probes->level == PROBES_TRACEPOINT && groups & calls)
		groups = (groups & ~calls) | 1U << PROBES_ENTERS | 1U << PROBES_EXITS;
	if (probes->level == PROBES_TRACEPOINT)
		groups &= ~(1U << PROBES_INNER);
	return groups;
}

enum probes_level probes_level(const struct probes *probes)
{
	return probes->level;
}

const struct kernel *probes_kernel(const struct probes *probes)
{
	return &probes->kernel;
}

struct iotr_control *probes_page(struct probes *probes)
{
	return probes->page;
}

uint64_t *probes_known(struct probes *probes)
{
	return probes->known;
}

const int *probes_rings(const struct probes *probes, size_t *count)
{
	*count = probes->ring_count;
	return probes->rings;
}

static bool program_loaded(const char *name, const void *userdata)
{
	const struct probes *probes = userdata;
	const struct bpf_program *program;

	for (size_t i = 0; i < OBJECT_COUNT; i++) {
		const struct bpf_object *object = probes->objects[i];

		if (!object)
			continue;
		program = bpf_object__find_program_by_name(object, name);
		if (program && program_fd(probes, program) >= 0)
			return true;
	}
	return false;
}

size_t probes_dirtier_lacks(const struct probes *probes, bool blocks, struct dirtier_lack lacks[DIRTIER_LACKS])
{
	return dirtier_lacks(program_loaded, probes, blocks, lacks);
}

const char *probes_hook(const struct probes *probes, enum iotr_stream stream,
			unsigned int operation, const char **reason)
{
	const struct hook *hook = hooks_find(stream, operation, program_loaded, probes, reason);

	if (!hook && probes->kernel.refusal)
		*reason = probes->kernel.refusal;
	if (!hook && probes->lacked_memory)
		*reason = "there was no memory for the programs of this operation";
	return hook ? hook->text : NULL;
}

bool probes_lacked_memory(const struct probes *probes)
{
	return probes->lacked_memory;
}

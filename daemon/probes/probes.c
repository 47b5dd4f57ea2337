// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/probes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cleanup.h"
#include "log.h"
#include "probes/clone.h"
#include "probes/counted.h"
#include "probes/functions.h"
#include "probes/hooks.h"
#include "probes/rodata.h"

#define NAMES_BYTES   (8U << 20)
#define RINGS_BYTES   (32U << 20) /* over all row rings */
#define RINGS_MAX     64
#define CPUS_PER_RING 8

/* The order in which they are loaded: one that shares a map comes after the one that has it. */
#define OBJECTS(X) \
	X(SYSCALLS, syscalls) X(INODES, inodes) X(ASYNC, async) X(BLOCK, block) X(PROCESS, process) \
	X(EPOLL, epoll) X(SOCKOPT, sockopt) X(DROP, drop) X(IOURING, iouring) \
	X(NET, net) X(NET_URING, net_uring) X(CONN, conn) X(CONN_URING, conn_uring) \
	X(CACHE, cache) X(PAGEFAULT, pagefault)

enum object {
	OBJECT_SHARED, /* first: the others take its maps */
#define OBJECT_NUMBER(id, name) OBJECT_##id,
	OBJECTS(OBJECT_NUMBER)
	OBJECT_COUNT,
};

#define OBJECT_BYTES(id, name)                                                                  \
	extern const unsigned char iotr_bpf_##name##_begin[], iotr_bpf_##name##_end[];
OBJECT_BYTES(SHARED, shared)
OBJECTS(OBJECT_BYTES)

static const struct {
	const char *name;
	const unsigned char *begin, *end;
} objects[OBJECT_COUNT] = {
#define OBJECT_ROW(id, name) [OBJECT_##id] = { #name, iotr_bpf_##name##_begin, iotr_bpf_##name##_end },
	OBJECT_ROW(SHARED, shared)
	OBJECTS(OBJECT_ROW)
};

static const enum object group_object[PROBES_GROUP_COUNT] = {
	[PROBES_CALLS] = OBJECT_SYSCALLS,
	[PROBES_PLUGS] = OBJECT_SYSCALLS,
	[PROBES_INODES] = OBJECT_INODES,
	[PROBES_ASYNC] = OBJECT_ASYNC,
	[PROBES_BLOCK] = OBJECT_BLOCK,
	[PROBES_PROCESS] = OBJECT_PROCESS,
	[PROBES_EPOLL] = OBJECT_EPOLL,
	[PROBES_SOCKOPT] = OBJECT_SOCKOPT,
	[PROBES_DROP] = OBJECT_DROP,
	[PROBES_IOURING] = OBJECT_IOURING,
	[PROBES_NET] = OBJECT_NET,
	[PROBES_NET_URING] = OBJECT_NET_URING,
	[PROBES_CONN] = OBJECT_CONN,
	[PROBES_CONN_URING] = OBJECT_CONN_URING,
	[PROBES_CACHE] = OBJECT_CACHE,
	[PROBES_PAGEFAULT] = OBJECT_PAGEFAULT,
};

/* Streams whose programs system calls go on to: see plug.bpf.h. */
static const struct {
	enum object object;
	enum iotr_stream stream;
} plugged[] = {
	{ OBJECT_EPOLL, IOTR_EPOLL },
	{ OBJECT_SOCKOPT, IOTR_SOCKOPT },
	{ OBJECT_NET, IOTR_NET },
	{ OBJECT_CONN, IOTR_CONN },
};

struct probes {
	enum probes_level level;
	struct kernel kernel;
	struct bpf_object *objects[OBJECT_COUNT];
	int errors[OBJECT_COUNT]; /* why an object is not there */
	struct functions *functions; /* hooks on the functions of system calls */
	struct bpf_link **links[PROBES_GROUP_COUNT];
	size_t link_count[PROBES_GROUP_COUNT];
	bool attached[PROBES_GROUP_COUNT];
	struct iotr_control *page;
	uint64_t *known;
	int rings[RINGS_MAX];
	size_t ring_count;
};

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

/* ---- programs and maps of an object, before it is loaded ---- */

/*
 * Programs whose arguments differ between kernels end in __N, the number of arguments of the
 * tracepoint they are for. All others fit every kernel that has the hook. Those on events that are
 * counted, which every kernel has, end in whether they need bpf_find_vma.
 */
static bool program_fits(const struct kernel *kernel, const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);
	const char *suffix = strstr(bpf_program__name(program), "__");
	int arity;

	if (!strncmp(section, "tp/", 3))
		return true;
	if (!strcmp(section, "perf_event"))
		arity = kernel_function(kernel, "bpf_find_vma") > 0;
	else if (strncmp(section, "tp_btf/", 7))
		arity = kernel_function_arity(kernel, strchr(section, '/') + 1);
	else
		arity = kernel_tracepoint_arity(kernel, section + 7);
	return arity >= 0 && (!suffix || arity == atoi(suffix + 2));
}

/* Of system calls in general, not of one function. */
static bool on_system_calls(const char *section)
{
	const char *hook = strrchr(section, '/');

	return hook && (!strcmp(hook, "/sys_enter") || !strcmp(hook, "/sys_exit"));
}

static bool program_wanted(const struct probes *probes, const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);
	bool function = !strncmp(section, "fentry/", 7) || !strncmp(section, "fexit/", 6);
	const char *name = bpf_program__name(program);

	if (function && probes->level != PROBES_FUNCTION)
		return false;
	if (on_system_calls(section) && !strncmp(section, "tp/", 3) != probes->kernel.preempts)
		return false;
	if (!strncmp(name, probes->level == PROBES_FUNCTION ? "sys_" : "plug", 4))
		return false;
	return program_fits(&probes->kernel, program);
}

/* The map of that name in an object loaded before: the shared ones first, then the slots. */
static struct bpf_map *map_find(const struct probes *probes, const char *name)
{
	struct bpf_map *map = NULL;

	for (size_t i = 0; i < OBJECT_COUNT && !map; i++)
		if (probes->objects[i])
			map = bpf_object__find_map_by_name(probes->objects[i], name);
	return map;
}

static int maps_share(const struct probes *probes, struct bpf_object *object)
{
	struct bpf_map *map, *from;
	int r;

	bpf_object__for_each_map(map, object) {
		from = bpf_map__is_internal(map) ? NULL : map_find(probes, bpf_map__name(map));
		if (!from)
			continue;
		r = bpf_map__reuse_fd(map, bpf_map__fd(from));
		if (r < 0)
			return r;
	}
	return 0;
}

static int shared_sizes(struct bpf_object *object)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, "names");

	return map ? bpf_map__set_max_entries(map, NAMES_BYTES) : -EINVAL;
}

static int object_load(struct probes *probes, enum object which)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = objects[which].name);
	struct bpf_object *object;
	struct bpf_program *program;
	int r;

	object = bpf_object__open_mem(objects[which].begin,
				      objects[which].end - objects[which].begin, &options);
	if (!object)
		return -errno;
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, program_wanted(probes, program));
	r = rodata_set(object, probes->kernel.typed_reads,
		       probes->ring_count > 1 ? __builtin_ctz(CPUS_PER_RING) : 31);
	if (r >= 0)
		r = which == OBJECT_SHARED ? shared_sizes(object) :
					     maps_share(probes, object);
	if (r >= 0)
		r = bpf_object__load(object);
	if (r < 0) {
		bpf_object__close(object);
		return r;
	}
	probes->objects[which] = object;
	return 0;
}

/* ---- programs that others go on to ---- */

/* Of a plugged stream, those on sys_enter and sys_exit are not attached by themselves. */
static const char *plug_map(const struct probes *probes, enum object object, const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);

	for (size_t i = 0; i < sizeof(plugged) / sizeof(plugged[0]); i++) {
		if (plugged[i].object != object || !probes->objects[object])
			continue;
		if (on_system_calls(section))
			return strstr(section, "/sys_enter") ? "plug_enters" : "plug_exits";
	}
	return NULL;
}

static int plug(const struct probes *probes, enum object object, enum iotr_stream stream)
{
	struct bpf_program *program;
	uint32_t key = stream;

	bpf_object__for_each_program(program, probes->objects[object]) {
		const char *map = plug_map(probes, object, program);
		int fd = bpf_program__fd(program);

		if (map && fd >= 0 && bpf_map_update_elem(probes_map(probes, map), &key, &fd, BPF_ANY) < 0)
			return -errno;
	}
	return 0;
}

/* A stream whose programs are not accepted is one that was not loaded. */
static void plug_all(struct probes *probes)
{
	for (size_t i = 0; i < sizeof(plugged) / sizeof(plugged[0]); i++) {
		enum object object = plugged[i].object;
		int r = probes->objects[object] ? plug(probes, object, plugged[i].stream) : 0;

		if (r >= 0)
			continue;
		log_warning("the kernel does not go on to %s programs: %s", objects[object].name,
			    strerror(-r));
		probes->errors[object] = r;
		bpf_object__close(probes->objects[object]);
		probes->objects[object] = NULL;
	}
}

/* ---- rings and pages ---- */

static int rings_create(struct probes *probes)
{
	int outer = probes_map(probes, "rings"), cpus = libbpf_num_possible_cpus();
	uint32_t bytes = RINGS_BYTES;

	probes->ring_count = cpus > CPUS_PER_RING ? (cpus + CPUS_PER_RING - 1) / CPUS_PER_RING : 1;
	if (probes->ring_count > RINGS_MAX)
		probes->ring_count = RINGS_MAX;
	while (bytes * probes->ring_count > RINGS_BYTES && bytes > 1U << 20)
		bytes /= 2;
	for (uint32_t i = 0; i < probes->ring_count; i++) {
		probes->rings[i] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "row_ring", 0, 0, bytes, NULL);
		if (probes->rings[i] < 0)
			return probes->rings[i];
		if (bpf_map_update_elem(outer, &i, &probes->rings[i], BPF_ANY) < 0)
			return -errno;
	}
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
	int r = page_map(probes_map(probes, "control"), page_round(sizeof(*probes->page)),
			 &probes->page);

	if (r < 0)
		return r;
	probes->page->own_tgid = getpid();
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

static int shared_load(struct probes *probes, char *why, size_t why_size)
{
	int r = object_load(probes, OBJECT_SHARED);

	if (r >= 0)
		r = rings_create(probes);
	if (r >= 0)
		r = pages_map(probes);
	if (r < 0)
		snprintf(why, why_size, "cannot create BPF maps: %s%s", strerror(-r),
			 r == -EPERM ? "; run the daemon as root" : "");
	return r;
}

static int all_load(struct probes *probes, enum probes_level level, char *why, size_t why_size)
{
	int r = kernel_open(&probes->kernel);

	if (r < 0) {
		snprintf(why, why_size, "cannot read /sys/kernel/btf/vmlinux: %s; "
			 "a kernel with CONFIG_DEBUG_INFO_BTF is needed", strerror(-r));
		return r;
	}
	r = level_choose(probes, level, why, why_size);
	if (r >= 0)
		r = shared_load(probes, why, why_size);
	if (r < 0)
		return r;
	for (enum object which = OBJECT_SHARED + 1; which < OBJECT_COUNT; which++) {
		if (which == OBJECT_INODES && probes->level != PROBES_FUNCTION)
			continue;
		probes->errors[which] = object_load(probes, which);
		if (probes->errors[which] < 0)
			log_warning("the kernel refuses %s programs: %s", objects[which].name,
				    strerror(-probes->errors[which]));
	}
	plug_all(probes);
	if (probes->level == PROBES_FUNCTION && probes->objects[OBJECT_SYSCALLS])
		return functions_new(&probes->kernel, probes->objects[OBJECT_SYSCALLS],
				     &probes->functions);
	return 0;
}

int probes_new(enum probes_level level, struct probes **ret, char *why, size_t why_size)
{
	struct probes *probes = calloc(1, sizeof(*probes));
	int r;

	if (!probes)
		return -ENOMEM;
	libbpf_set_print(print_libbpf);
	for (size_t i = 0; i < RINGS_MAX; i++)
		probes->rings[i] = -1;
	r = all_load(probes, level, why, why_size);
	if (r < 0) {
		probes_free(probes);
		return r;
	}
	*ret = probes;
	return 0;
}

void probes_free(struct probes *probes)
{
	if (!probes)
		return;
	for (enum probes_group group = 0; group < PROBES_GROUP_COUNT; group++)
		probes_detach(probes, group);
	functions_free(probes->functions);
	if (probes->page)
		munmap(probes->page, page_round(sizeof(*probes->page)));
	if (probes->known)
		munmap(probes->known, IOTR_KNOWN * sizeof(uint64_t));
	for (size_t i = 0; i < RINGS_MAX; i++)
		closep(&probes->rings[i]);
	for (size_t i = OBJECT_COUNT; i-- > 0;)
		bpf_object__close(probes->objects[i]);
	kernel_done(&probes->kernel);
	free(probes);
}

/* ---- attaching ---- */

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

/* CPUs that come later are not seen. */
static int program_attach_counted(struct probes *probes, enum probes_group group,
				  const struct bpf_program *program, uint64_t number)
{
	int cpus = libbpf_num_possible_cpus(), r = 0;
	struct bpf_link *link;

	for (int cpu = 0; cpu < cpus && r >= 0; cpu++) {
		r = counted_attach(program, number, cpu, &link);
		if (r >= 0)
			r = link_keep(probes, group, link);
		else if (r == -ENODEV)
			r = 0;
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

/* Programs of which functions.c attaches copies. */
static bool is_template(enum probes_group group, const struct bpf_program *program)
{
	return group == PROBES_PLUGS && strncmp(bpf_program__section_name(program), "tp_btf/", 7);
}

/* Maps of what is under way, by the kernel's address of it or by the thread. */
static const struct {
	enum probes_group group;
	const char *map;
} under_way[] = {
	{ PROBES_BLOCK, "requests" },
	{ PROBES_IOURING, "ring_requests" },
	{ PROBES_NET_URING, "net_requests" },
	{ PROBES_CONN, "closing" },
	{ PROBES_CONN, "connect_claims" },
	{ PROBES_CONN, "connects" },
	{ PROBES_CONN_URING, "conn_requests" },
	{ PROBES_PAGEFAULT, "page_faults" },
};

static void map_empty(int map)
{
	uint64_t key; /* the largest that these maps have */

	while (bpf_map_get_next_key(map, NULL, &key) == 0)
		bpf_map_delete_elem(map, &key);
}

/* What had not ended when the programs were detached would stay for ever. */
static void forget_under_way(const struct bpf_object *object, enum probes_group group)
{
	for (size_t i = 0; i < sizeof(under_way) / sizeof(under_way[0]); i++)
		if (under_way[i].group == group)
			map_empty(bpf_object__find_map_fd_by_name(object, under_way[i].map));
}

int probes_attach(struct probes *probes, enum probes_group group)
{
	struct bpf_object *object = probes->objects[group_object[group]];
	struct bpf_program *program;
	int failed = 0, r = 0;

	if (probes->attached[group])
		return 0;
	if (!object)
		return -EOPNOTSUPP;
	probes->attached[group] = true;
	forget_under_way(object, group);
	if (group == PROBES_CALLS && probes->functions)
		return functions_attach(probes->functions);
	bpf_object__for_each_program(program, object) {
		if (!bpf_program__autoload(program) ||
		    plug_map(probes, group_object[group], program) || is_template(group, program))
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

/* ---- what the rest of the daemon sees ---- */

uint32_t probes_groups(const struct probes *probes, uint32_t groups)
{
	const uint32_t plugs = 1U << PROBES_PLUGS;

	if (probes->level == PROBES_TRACEPOINT && groups & plugs)
		groups = (groups & ~plugs) | 1U << PROBES_CALLS;
	return groups;
}

/* What the kernel says a map holds: "memlock" of its fdinfo. */
static uint64_t map_memory(int fd)
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
		bpf_object__for_each_map(map, probes->objects[i])
			if (map_find(probes, bpf_map__name(map)) == map)
				bytes += map_memory(bpf_map__fd(map));
	}
	for (size_t i = 0; i < probes->ring_count; i++)
		bytes += map_memory(probes->rings[i]);
	return bytes;
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

int probes_map(const struct probes *probes, const char *name)
{
	return bpf_object__find_map_fd_by_name(probes->objects[OBJECT_SHARED], name);
}

const int *probes_rings(const struct probes *probes, size_t *count)
{
	*count = probes->ring_count;
	return probes->rings;
}

void probes_loss(const struct probes *probes, enum iotr_stream stream, unsigned int session,
		 struct probes_loss *loss)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct iotr_counters *counters = calloc(cpus, sizeof(*counters));
	uint32_t key = stream;

	memset(loss, 0, sizeof(*loss));
	if (!counters || bpf_map_lookup_elem(probes_map(probes, "counters"), &key, counters) < 0)
		return;
	for (int cpu = 0; cpu < cpus; cpu++) {
		loss->emitted += counters[cpu].emitted[session];
		loss->ring += counters[cpu].ring[session];
		loss->unmatched += counters[cpu].unmatched[session];
	}
}

static uint64_t group_missed(const struct probes *probes, enum probes_group group)
{
	struct bpf_object *object = probes->objects[group_object[group]];
	struct bpf_program *program;
	uint64_t missed = 0;

	if (!object)
		return 0;
	bpf_object__for_each_program(program, object)
		missed += program_missed(bpf_program__fd(program));
	return missed;
}

uint64_t probes_missed(const struct probes *probes, uint32_t groups)
{
	uint64_t missed = 0;

	groups = probes_groups(probes, groups);
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
			program_runs(bpf_program__fd(program), runs);
	}
}

static bool program_loaded(const char *name, const void *userdata)
{
	const struct probes *probes = userdata;
	const struct bpf_program *program;

	for (size_t i = 0; i < OBJECT_COUNT; i++) {
		if (!probes->objects[i])
			continue;
		program = bpf_object__find_program_by_name(probes->objects[i], name);
		if (program)
			return bpf_program__fd(program) >= 0;
	}
	return false;
}

const char *probes_hook(const struct probes *probes, enum iotr_stream stream,
			unsigned int operation, const char **reason)
{
	const struct hook *hook = hooks_find(stream, operation, program_loaded, probes, reason);

	return hook ? hook->text : NULL;
}

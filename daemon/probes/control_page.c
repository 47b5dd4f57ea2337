// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/control_page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "probes/bio_ends.h"
#include "probes/calls.h"
#include "probes/cgroups.h"
#include "probes/filter_maps.h"
#include "probes/mount_table.h"
#include "probes/paths.h"
#include "probes/fault_events.h"
#include "probes/probes_private.h"
#include "schema.h"

static uint64_t number_hint(const void *key)
{
	uint32_t number;

	memcpy(&number, key, sizeof(number));
	return number;
}

static uint64_t command_hint(const void *key)
{
	__u64 words[IOTR_COMMAND_SIZE / sizeof(__u64)];

	memcpy(words, key, sizeof(words));
	return iotr_command_hint(words);
}

/* Filters that are lists: the map, the size of its keys, and the value whose low bits select a key's hint. */
static const struct {
	const char *map;
	size_t key_size;
	uint64_t (*hint)(const void *key);
} filter_maps[] = {
	[IOTR_FILTER_PID] = { "accept_pid", 4, number_hint },
	[IOTR_FILTER_COMMAND] = { "accept_command", IOTR_COMMAND_SIZE, command_hint },
	[IOTR_FILTER_UID] = { "accept_uid", 4, number_hint },
	[IOTR_FILTER_DEVICE] = { "accept_device", 4, number_hint },
};

static int filter_set(struct probes *probes, enum iotr_filter kind, uint64_t bit, const void *keys,
		      size_t count)
{
	int map = probes_map(probes, filter_maps[kind].map), r = 0;
	struct iotr_control *page = probes_page(probes);

	for (size_t i = 0; i < count && r >= 0; i++) {
		const char *key = (const char *)keys + i * filter_maps[kind].key_size;

		page->hints[kind][filter_maps[kind].hint(key) % IOTR_HINTS] = true;
		r = filter_key_change(map, key, bit, true);
	}
	if (count && r >= 0)
		page->filtered[kind] |= bit;
	return r;
}

/*
 * Walks the whole map, since the kernel side has added descendants. Hints are cleared when no session has
 * a filter of the kind any more; until then a stale hint costs a map lookup.
 */
static void filter_clear(struct probes *probes, enum iotr_filter kind, uint64_t bit)
{
	struct iotr_control *page = probes_page(probes);

	filter_keys_clear(probes_map(probes, filter_maps[kind].map), bit);
	if (!(page->filtered[kind] & ~bit))
		memset(page->hints[kind], 0, sizeof(page->hints[kind]));
}

static void flag_set(__u64 *sessions, uint64_t bit, bool set)
{
	*sessions = set ? *sessions | bit : *sessions & ~bit;
}

/* Sets a session's threshold, and its bit in the mask of sessions that have one; `value` 0: none. */
static void threshold_set(__u64 *sessions, __u64 *least, uint64_t bit, uint64_t value)
{
	*least = value;
	flag_set(sessions, bit, value);
}

static void page_summarise(struct iotr_control *page)
{
	page->filtered_task = page->filtered[IOTR_FILTER_PID] | page->filtered[IOTR_FILTER_UID] |
			      page->filtered[IOTR_FILTER_COMMAND] | page->filtered[IOTR_FILTER_CGROUP];
	page->filtered_file = page->filtered[IOTR_FILTER_DEVICE] | page->filtered[IOTR_FILTER_PATH];
	page->filtered_end = page->filtered[IOTR_FILTER_LATENCY] |
			     page->filtered[IOTR_FILTER_SIZE] | page->filtered[IOTR_FILTER_ERRORS];
}

static bool operations_filtered(const struct iotr_session_spec *spec)
{
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (iotr_operations_any(&spec->operations[stream]))
			return true;
	return false;
}

static bool operation_wanted(const struct iotr_session_spec *spec, size_t stream, size_t operation)
{
	if (!(spec->streams >> stream & 1))
		return false;
	return !operations_filtered(spec) || iotr_operations_have(&spec->operations[stream], operation);
}

/* Sets the mask of each system call: the sessions that record any operation that it may become. */
static void calls_update(struct iotr_control *page)
{
	for (size_t i = 0; i < call_count; i++) {
		struct iotr_call row = calls[i].row;

		for (size_t operation = 0; operation < IOTR_VFS_COUNT; operation++)
			if (call_operations(&calls[i]) >> operation & 1)
				row.sessions |= page->operation[IOTR_VFS][operation];
		if (calls[i].native >= 0)
			page->calls[IOTR_ABI_NATIVE][calls[i].native] = row;
		if (calls[i].compat >= 0)
			page->calls[IOTR_ABI_COMPAT][calls[i].compat] = row;
	}
}

static void plugs_update(struct probes *probes)
{
	struct iotr_control *page = probes->page;
	uint64_t wanted = 0;

	for (size_t i = 0; i < plug_count; i++) {
		struct iotr_plug row = plugs[i].row;

		row.sessions = page->operation[row.stream][row.operation];
		if (row.kind == IOTR_PLUG_SPLICE)
			row.sessions |= page->operation[IOTR_NET][IOTR_NET_RECEIVE];
		wanted |= row.sessions;
		if (plugs[i].native >= 0)
			page->plugs[IOTR_ABI_NATIVE][plugs[i].native] = row;
		if (plugs[i].compat >= 0)
			page->plugs[IOTR_ABI_COMPAT][plugs[i].compat] = row;
	}
	page->plugged = wanted || (page->plugged && probes->attached[PROBES_EXITS]);
}

static void operations_set(struct probes *probes, uint64_t bit, const struct iotr_session_spec *spec)
{
	struct iotr_control *page = probes->page;

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		uint64_t wanted = 0;

		for (size_t operation = 0; operation < IOTR_OPERATIONS_MAX; operation++) {
			flag_set(&page->operation[stream][operation], bit,
				 spec && operation_wanted(spec, stream, operation));
			wanted |= page->operation[stream][operation];
		}
		page->wanted[stream] = wanted;
	}
	calls_update(page);
	plugs_update(probes);
}

static void sample_most(struct iotr_control *page, size_t stream)
{
	uint64_t most = 0;

	for (unsigned int session = 0; session < IOTR_SESSION_SLOTS; session++)
		if (page->sampled[stream] >> session & 1 && page->sample_below[stream][session] > most)
			most = page->sample_below[stream][session];
	page->sample_most[stream] = most;
}

/* Sets sample_below for one in N: of the numbers that can be drawn, the lowest N-th part is taken. */
static void sample_set(struct iotr_control *page, unsigned int session, const struct iotr_session_spec *spec)
{
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		uint32_t sample = spec->sample[stream];

		threshold_set(&page->sampled[stream], &page->sample_below[stream][session], 1ULL << session,
			      sample > 1 ? (1ULL << 63) / sample : 0);
		sample_most(page, stream);
	}
}

/*
 * The period of the perf events of page faults, where the session with the most rows takes one in `least`. A fault
 * that perf skips costs the least. The period is prime, so that a program's repeated pattern of faults is unlikely to
 * be a multiple of it.
 */
static uint64_t fault_period(uint32_t least)
{
	static const uint32_t primes[] = { 13, 11, 7, 5, 3, 2 };

	for (size_t i = 0; i < sizeof(primes) / sizeof(primes[0]); i++)
		if (least >= primes[i] * primes[i])
			return primes[i];
	return 1;
}

/* Sets the perf period, and multiplies what the draws take by it. `one_in` 0: the session records no page faults. */
static void faults_sample(struct probes *probes, unsigned int session, uint32_t one_in)
{
	struct iotr_control *page = probes_page(probes);
	uint32_t *wanted = probes->fault_one_in, least = UINT32_MAX;
	uint64_t period;

	wanted[session] = one_in;
	for (size_t i = 0; i < IOTR_SESSION_SLOTS; i++)
		if (wanted[i] && wanted[i] < least)
			least = wanted[i];
	period = probes_fault_period(probes, least == UINT32_MAX ? 1 : fault_period(least));
	for (size_t i = 0; i < IOTR_SESSION_SLOTS; i++)
		if (wanted[i] > 1)
			page->sample_below[IOTR_PAGEFAULT][i] = (1ULL << 63) / wanted[i] * period;
	sample_most(page, IOTR_PAGEFAULT);
}

static uint32_t faults_wanted(const struct iotr_session_spec *spec)
{
	if (!(spec->streams >> IOTR_PAGEFAULT & 1))
		return 0;
	return spec->sample[IOTR_PAGEFAULT] ?: 1;
}

static int lists_set(struct probes *probes, uint64_t bit, const struct iotr_session_spec *spec,
		     const struct paths_found *paths, struct filter_error *error)
{
	int r = filter_set(probes, IOTR_FILTER_PID, bit, spec->pids, spec->pid_count);

	if (r >= 0)
		r = filter_set(probes, IOTR_FILTER_COMMAND, bit, spec->commands, spec->command_count);
	if (r >= 0)
		r = filter_set(probes, IOTR_FILTER_UID, bit, spec->uids, spec->uid_count);
	if (r >= 0)
		r = filter_set(probes, IOTR_FILTER_DEVICE, bit, spec->devices, spec->device_count);
	if (r < 0)
		return filter_fail(error, r, "", "cannot set the filters: too many values over all sessions");
	r = cgroups_set(probes, bit, spec, error);
	return r < 0 ? r : paths_set(probes, bit, paths, error);
}

int control_page_check(const struct iotr_session_spec *spec, struct filter_error *error)
{
	return cgroups_check(spec, error);
}

/*
 * Sets the start of the session in its slot: events that began earlier belong to the slot's last session. None of
 * its own can be earlier, as its bit in `open` is not set yet.
 */
static void begin(struct iotr_control *page, unsigned int session)
{
	page->begun_ns[session] = page->begun_last_ns = clock_ns(CLOCK_MONOTONIC);
}

int control_page_prepare(struct probes *probes, unsigned int session, const struct iotr_session_spec *spec,
			 const struct paths_found *paths, struct filter_error *error)
{
	struct iotr_control *page = probes_page(probes);
	uint64_t bit = 1ULL << session;
	int r;

	begin(page, session);
	r = lists_set(probes, bit, spec, paths, error);
	if (r < 0) {
		control_page_clear(probes, session);
		return r;
	}
	threshold_set(&page->filtered[IOTR_FILTER_LATENCY], &page->min_latency_ns[session], bit,
		      spec->min_latency_ns);
	threshold_set(&page->filtered[IOTR_FILTER_SIZE], &page->min_size[session], bit, spec->min_size);
	flag_set(&page->filtered[IOTR_FILTER_ERRORS], bit, spec->errors);
	flag_set(&page->tree, bit, spec->tree);
	flag_set(&page->pseudo_fs, bit, spec->pseudo_fs);
	sample_set(page, session, spec);
	page_summarise(page);
	operations_set(probes, bit, spec);
	faults_sample(probes, session, faults_wanted(spec));
	return 0;
}

/* The hint is set first, as programs check it before they look up the key. */
int control_page_follow(struct probes *probes, unsigned int session, uint32_t process)
{
	struct iotr_control *page = probes_page(probes);
	int r;

	page->hints[IOTR_FILTER_PID][process % IOTR_HINTS] = true;
	r = filter_key_change(probes_map(probes, filter_maps[IOTR_FILTER_PID].map), &process, 1ULL << session, true);
	if (r == -E2BIG)
		__atomic_add_fetch(&page->unfollowed[session], 1, __ATOMIC_RELAXED);
	return r == -E2BIG ? 0 : r;
}

void control_page_unfollow(struct probes *probes, unsigned int session, uint32_t process)
{
	filter_key_change(probes_map(probes, filter_maps[IOTR_FILTER_PID].map), &process, 1ULL << session, false);
}

uint64_t control_page_unfollowed(struct probes *probes, unsigned int session)
{
	return probes_page(probes)->unfollowed[session];
}

bool control_page_loops_known(struct probes *probes)
{
	control_page_modules(probes);
	return probes_page(probes)->loop.file;
}

bool control_page_logs_known(struct probes *probes)
{
	const struct iotr_control *page = probes_page(probes);
	bool btrfs;

	control_page_modules(probes);
	btrfs = page->bio_ends[IOTR_BIO_BTRFS] || page->bio_ends[IOTR_BIO_BTRFS_OLD];
	return (!page->bio_ends[IOTR_BIO_XFS_LOG] || page->xfs.ticket_whole) && (!btrfs || page->btrfs.generation);
}

bool control_page_subvolumes_known(const struct probes *probes, bool mounted)
{
	static const char *const types[] = { "btrfs", NULL };

	return probes->page->btrfs.anon_dev || access("/sys/fs/btrfs", F_OK) < 0 || (mounted && !mount_of_type(types));
}

uint64_t control_page_forgotten(struct probes *probes)
{
	return __atomic_load_n(&probes_page(probes)->dirtied_forgotten, __ATOMIC_RELAXED);
}

int control_page_inherit(struct probes *probes, unsigned int session, unsigned int from)
{
	return filter_keys_inherit(probes_map(probes, filter_maps[IOTR_FILTER_PID].map), 1ULL << from,
				   1ULL << session);
}

void control_page_open(struct probes *probes, unsigned int session, int instead)
{
	struct iotr_control *page = probes_page(probes);
	uint64_t open = page->open | 1ULL << session;

	if (instead >= 0) {
		probes_quiesce(probes); /* programs that read the masks before prepare() have used the other */
		open &= ~(1ULL << instead);
	}
	__atomic_store_n(&page->open, open, __ATOMIC_SEQ_CST); /* one store: an event sees one of the two bits */
}

void control_page_shut(struct probes *probes, uint64_t slots)
{
	struct iotr_control *page = probes_page(probes);

	__atomic_store_n(&page->open, page->open & ~slots, __ATOMIC_SEQ_CST);
}

int control_page_set(struct probes *probes, unsigned int session, const struct iotr_session_spec *spec,
		     const struct paths_found *paths, struct filter_error *error)
{
	int r = control_page_prepare(probes, session, spec, paths, error);

	if (r >= 0)
		control_page_open(probes, session, -1);
	return r;
}

void control_page_clear(struct probes *probes, unsigned int session)
{
	struct iotr_control *page = probes_page(probes);
	uint64_t bit = 1ULL << session;

	page->open &= ~bit;
	page->begun_ns[session] = INT64_MAX;
	operations_set(probes, bit, NULL);
	probes_quiesce(probes);
	for (size_t kind = 0; kind < sizeof(filter_maps) / sizeof(filter_maps[0]); kind++)
		filter_clear(probes, kind, bit);
	filter_keys_clear(probes_map(probes, "accept_unit"), bit);
	filter_keys_clear(probes_map(probes, "accept_cgroup"), bit);
	page->cgroup_generation++;
	paths_clear(probes, bit);
	for (size_t kind = 0; kind < IOTR_FILTER_COUNT; kind++)
		page->filtered[kind] &= ~bit;
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		page->sampled[stream] &= ~bit;
		sample_most(page, stream);
	}
	page->tree &= ~bit;
	page->pseudo_fs &= ~bit;
	page_summarise(page);
	faults_sample(probes, session, 0);
}

/* ---- block requests ---- */

static const struct {
	const char *name; /* name of the kernel's enumerator */
	enum iotr_block_operation operation;
} block_operations[] = {
	{ "REQ_OP_READ", IOTR_BLOCK_READ },
	{ "REQ_OP_WRITE", IOTR_BLOCK_WRITE },
	{ "REQ_OP_FLUSH", IOTR_BLOCK_FLUSH },
	{ "REQ_OP_DISCARD", IOTR_BLOCK_DISCARD },
	{ "REQ_OP_SECURE_ERASE", IOTR_BLOCK_SECURE_ERASE },
	{ "REQ_OP_WRITE_ZEROES", IOTR_BLOCK_WRITE_ZEROES },
	{ "REQ_OP_ZONE_OPEN", IOTR_BLOCK_ZONE_OPEN },
	{ "REQ_OP_ZONE_CLOSE", IOTR_BLOCK_ZONE_CLOSE },
	{ "REQ_OP_ZONE_FINISH", IOTR_BLOCK_ZONE_FINISH },
	{ "REQ_OP_ZONE_APPEND", IOTR_BLOCK_ZONE_APPEND },
	{ "REQ_OP_ZONE_RESET", IOTR_BLOCK_ZONE_RESET },
	{ "REQ_OP_ZONE_RESET_ALL", IOTR_BLOCK_ZONE_RESET_ALL },
};

static const char *const block_flags[] = {
	"FAILFAST_DEV", "FAILFAST_TRANSPORT", "FAILFAST_DRIVER", "SYNC", "META", "PRIO", "NOMERGE",
	"IDLE", "INTEGRITY", "FUA", "PREFLUSH", "RAHEAD", "BACKGROUND", "NOWAIT", "POLLED",
	"ALLOC_CACHE", "SWAP", "DRV", "FS_PRIVATE", "ATOMIC", "NOUNMAP", "CGROUP_PUNT", "HIPRI",
};

void control_page_block(struct probes *probes, const char *flag_names[32])
{
	struct kernel *kernel = &probes->kernel;
	struct iotr_control *page = probes_page(probes);
	unsigned int value;
	char name[64];

	memset(page->block_operation, IOTR_BLOCK_OTHER, sizeof(page->block_operation));
	for (size_t i = 0; i < sizeof(block_operations) / sizeof(block_operations[0]); i++)
		if (kernel_enumerator(kernel, block_operations[i].name, &value) && value < 256)
			page->block_operation[value] = block_operations[i].operation;
	for (size_t i = 0; i < sizeof(block_flags) / sizeof(block_flags[0]); i++) {
		snprintf(name, sizeof(name), "__REQ_%s", block_flags[i]);
		if (kernel_enumerator(kernel, name, &value) && value < 32)
			flag_names[value] = block_flags[i];
	}
	if (kernel_enumerator(kernel, "__REQ_PREFLUSH", &value) && value < 32)
		page->request_preflush = 1U << value;
}

/* What is mounted in other mount namespaces alone is seen where the kernel tells the address of overlayfs's type. */
static void stacking_look(struct iotr_control *page)
{
	static const char *const overlay[] = { "overlay", NULL }, *const fuse[] = { "fuse", NULL };
	static uint64_t passthrough = UINT64_MAX; /* as it was then */

	if (!mounts_changed() && passthrough == page->stacking.passthrough)
		return;
	passthrough = page->stacking.passthrough;
	page->stacking.mounted = (!page->stacking.overlay && mount_of_type(overlay)) || (passthrough && mount_of_type(fuse));
}

void control_page_modules(struct probes *probes)
{
	struct kernel *kernel = &probes->kernel;

	stacking_look(probes_page(probes));
	if (!probes->bio_ends_found || bio_ends_known(probes_page(probes)) || kernel_use(kernel) < 0)
		return;
	bio_ends_find(kernel->btf, probes->symbols, probes_page(probes));
	kernel_leave(kernel);
}

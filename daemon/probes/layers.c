// SPDX-License-Identifier: GPL-2.0-or-later
/* The programs of bpf/layers.bpf.c, and the accounts that they count on. */
#include "probes/layers.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "probes/bio_ends.h"
#include "probes/clone.h"
#include "probes/layers_fold.h"
#include "probes/layers_private.h"
#include "probes/map_name.h"
#include "probes/probes_private.h"

extern const unsigned char iotr_bpf_layers_begin[], iotr_bpf_layers_end[];

enum {
	PROGRAMS = 32, /* at most */
};

#define MINOR_BITS 20
#define LOOP_MAJOR 7
#define GRACE_NS	60000000000ULL /* that an account is kept after its process has ended */
#define GRACE_SHORT_NS	2000000000ULL  /* the same, when few are free */

struct layers {
	const struct probes *probes;
	struct bpf_object *object;
	const struct bpf_program *attached[PROGRAMS];
	struct bpf_link *links[PROGRAMS];
	size_t link_count;
	struct iotr_layer_key *keys; /* the map layer_keys */
	struct iotr_layer_counts *read; /* room for one account's counts, by CPU */
	struct kept **kept; /* by index; NULL: not in use */
	uint32_t count;	    /* indices */
	uint32_t used;	    /* of those, accounts with a key */
	int cpus;
	struct layers_disks disks;
	struct layers_missing missing[LAYERS_MISSING];
	size_t missing_count;
};

DEFINE_CLEANUP(struct layers *, layers_free);

static int map_of(const struct layers *layers, const char *name)
{
	return bpf_object__find_map_fd_by_name(layers->object, name);
}

/* ---- loading ---- */

static uint32_t accounts_for(int cpus)
{
	size_t room = LAYERS_BYTES / ((size_t)cpus * sizeof(struct iotr_layer_counts));

	if (room > LAYERS_ACCOUNTS_MAX)
		room = LAYERS_ACCOUNTS_MAX;
	return room < LAYERS_ACCOUNTS_MIN ? LAYERS_ACCOUNTS_MIN : room;
}

static int sizes_set(const struct layers *layers)
{
	static const char *const by_account[] = { "layer_counts", "layer_keys", "layer_accounts", "layer_free" };

	for (size_t i = 0; i < sizeof(by_account) / sizeof(by_account[0]); i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(layers->object, by_account[i]);
		int r = map ? bpf_map__set_max_entries(map, layers->count) : -ENOENT;

		if (r < 0)
			return r;
	}
	return 0;
}

static size_t keys_bytes(const struct layers *layers)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (layers->count * sizeof(*layers->keys) + page - 1) / page * page;
}

/* Maps the keys, and makes all accounts free. */
static int accounts_make(struct layers *layers)
{
	void *keys = mmap(NULL, keys_bytes(layers), PROT_READ | PROT_WRITE, MAP_SHARED, map_of(layers, "layer_keys"), 0);

	if (keys == MAP_FAILED)
		return -errno;
	layers->keys = keys;
	layers->kept = calloc(layers->count, sizeof(*layers->kept));
	layers->read = calloc(layers->cpus, sizeof(*layers->read));
	if (!layers->kept || !layers->read)
		return -ENOMEM;
	for (uint32_t index = IOTR_LAYER_FIRST; index < layers->count; index++)
		if (bpf_map_update_elem(map_of(layers, "layer_free"), NULL, &index, BPF_ANY) < 0)
			return -errno;
	return 0;
}

static int load(struct layers *layers)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "layers");
	int r;

	layers->object = bpf_object__open_mem(iotr_bpf_layers_begin,
					      (size_t)(iotr_bpf_layers_end - iotr_bpf_layers_begin), &options);
	if (!layers->object)
		return -errno;
	if (!atomic_load(&layers->probes->bio_ends_found))
		bio_ends_find(layers->probes->kernel.btf, layers->probes->symbols, layers->probes->page);
	r = sizes_set(layers);
	if (r >= 0)
		r = object_prepare(layers->probes, layers->object);
	if (r >= 0)
		r = bpf_object__load(layers->object);
	return r < 0 ? r : accounts_make(layers);
}

int layers_load(struct probes *probes, struct layers **ret, char *why, size_t why_size)
{
	_cleanup_(layers_freep) struct layers *layers = calloc(1, sizeof(*layers));
	int r;

	if (!layers)
		return -ENOMEM;
	layers->probes = probes;
	layers->cpus = libbpf_num_possible_cpus();
	layers->count = accounts_for(layers->cpus) + IOTR_LAYER_FIRST;
	r = kernel_use(&probes->kernel);
	if (r >= 0) {
		r = load(layers);
		kernel_leave(&probes->kernel);
	}
	if (r < 0) {
		snprintf(why, why_size, "the kernel does not load the BPF programs that count by layer: %s",
			 probes->kernel.refusal ?: strerror(-r));
		return r;
	}
	*ret = TAKE(layers);
	return 0;
}

/* ---- attaching ---- */

static bool is_attached(const struct bpf_program *program, const void *userdata)
{
	const struct layers *layers = userdata;

	for (size_t i = 0; i < layers->link_count; i++)
		if (layers->attached[i] == program)
			return true;
	return false;
}

/* What those programs would tell that note who made pages dirty, which are another object's. */
static void dirtier_missing(struct layers *layers)
{
	struct dirtier_lack lacks[DIRTIER_LACKS];
	size_t count = probes_dirtier_lacks(layers->probes, false, lacks);

	for (size_t i = 0; i < count && layers->missing_count < LAYERS_MISSING; i++)
		layers->missing[layers->missing_count++] = (struct layers_missing){
			.layers = 1U << IOTR_LAYER_DEVICE_WRITE | 1U << IOTR_LAYER_FS_WRITE |
				  1U << IOTR_LAYER_FS_METADATA_WRITE | 1U << IOTR_LAYER_FS_JOURNAL_WRITE,
			.inexact = true,
			.hook = lacks[i].hook,
			.why = lacks[i].reason,
		};
}

int layers_attach(struct layers *layers)
{
	struct bpf_program *program;
	int failed = -EOPNOTSUPP;

	if (layers->link_count)
		return 0;
	bpf_object__for_each_program(program, layers->object) {
		struct bpf_link *link;

		if (!bpf_program__autoload(program) || layers->link_count == PROGRAMS)
			continue;
		link = bpf_program__attach(program);
		if (!link) {
			failed = -errno;
			continue;
		}
		layers->attached[layers->link_count] = program;
		layers->links[layers->link_count++] = link;
	}
	layers->missing_count = missing_find(layers->object, is_attached, layers, layers->missing);
	dirtier_missing(layers);
	return layers->link_count ? 0 : failed;
}

void layers_detach(struct layers *layers)
{
	while (layers->link_count)
		bpf_link__destroy(layers->links[--layers->link_count]);
}

void layers_free(struct layers *layers)
{
	if (!layers)
		return;
	layers_detach(layers);
	for (uint32_t index = 0; layers->kept && index < layers->count; index++)
		free(layers->kept[index]);
	if (layers->keys)
		munmap(layers->keys, keys_bytes(layers));
	free(layers->kept);
	free(layers->read);
	bpf_object__close(layers->object);
	free(layers);
}

/* ---- accounts ---- */

static bool key_is_set(const struct iotr_layer_key *key)
{
	return key->process || key->device;
}

static void stacked_settle(struct layers *layers, struct layers_account *account)
{
	static const enum iotr_layer device[] = { IOTR_LAYER_DEVICE_READ, IOTR_LAYER_DEVICE_WRITE,
						  IOTR_LAYER_DEVICE_FLUSH, IOTR_LAYER_DEVICE_DISCARD };

	bool loop = account->key.device >> MINOR_BITS == LOOP_MAJOR;

	account->stacked = account->key.device && disk_is_stacked(&layers->disks, account->key.device);
	if (account->stacked) {
		account->sums[loop ? IOTR_LAYER_LOOP_READ : IOTR_LAYER_STACKED_READ] = account->sums[IOTR_LAYER_DEVICE_READ];
		account->sums[loop ? IOTR_LAYER_LOOP_WRITE : IOTR_LAYER_STACKED_WRITE] = account->sums[IOTR_LAYER_DEVICE_WRITE];
	}
	for (size_t i = 0; account->stacked && i < sizeof(device) / sizeof(device[0]); i++) {
		account->sums[device[i]] = (struct iotr_layer_sum){ 0 };
		if (device[i] >= IOTR_LAYER_TIMED)
			continue;
		account->latency_ns[device[i]] = 0;
		memset(account->latency[device[i]], 0, sizeof(account->latency[device[i]]));
	}
}

/* Who the account's process is. One that is not known any more, or never was as there was no room, has ended if no such is. */
static void process_look(const struct layers *layers, struct layers_account *account)
{
	struct iotr_layer_process process;
	uint32_t pid = account->key.process;

	if (!pid || account->process.exited_ns)
		return;
	if (bpf_map_lookup_elem(map_of(layers, "layer_processes"), &pid, &process) == 0 &&
	    process.start_ns == account->key.start_ns) {
		account->process = process;
		return;
	}
	account->process.start_ns = account->key.start_ns;
	if (account->process.command[0] || (kill((pid_t)pid, 0) < 0 && errno == ESRCH))
		account->process.exited_ns = clock_ns(CLOCK_MONOTONIC);
}

static enum layers_kind kind_of(uint32_t index, const struct iotr_layer_key *key)
{
	if (index == IOTR_LAYER_OTHER)
		return LAYERS_OTHER;
	if (index == IOTR_LAYER_OWN)
		return LAYERS_OWN;
	return key->process ? LAYERS_PROCESS : LAYERS_KERNEL;
}

/* Whether an account can be used anew: its process has ended, and what it wrote has had time to reach the disk. */
static bool is_over(const struct layers *layers, const struct layers_account *account, uint64_t now)
{
	bool scarce = layers->used > layers->count - layers->count / 4;
	uint64_t exited = account->process.exited_ns;

	return account->kind == LAYERS_PROCESS && exited &&
	       now > exited + (scarce ? GRACE_SHORT_NS : GRACE_NS);
}

/* From now on the programs do not find the account; requests in flight may still count on it. */
static void account_leave(const struct layers *layers, const struct layers_account *account)
{
	struct iotr_layer_process process;
	uint32_t pid = account->key.process;

	bpf_map_delete_elem(map_of(layers, "layer_accounts"), &account->key);
	if (bpf_map_lookup_elem(map_of(layers, "layer_processes"), &pid, &process) == 0 &&
	    process.start_ns == account->key.start_ns)
		bpf_map_delete_elem(map_of(layers, "layer_processes"), &pid);
}

static void account_release(struct layers *layers, uint32_t index)
{
	memset(layers->read, 0, layers->cpus * sizeof(*layers->read));
	bpf_map_update_elem(map_of(layers, "layer_counts"), &index, layers->read, BPF_ANY);
	layers->keys[index] = (struct iotr_layer_key){ 0 };
	free(TAKE(layers->kept[index]));
	layers->used--;
	bpf_map_update_elem(map_of(layers, "layer_free"), NULL, &index, BPF_ANY);
}

static struct kept *kept_of(struct layers *layers, uint32_t index)
{
	struct kept *kept = layers->kept[index];

	if (kept)
		return kept;
	kept = layers->kept[index] = calloc(1, sizeof(*kept));
	if (kept && index >= IOTR_LAYER_FIRST)
		layers->used++;
	return kept;
}

static bool has_counted(const struct layers_account *account)
{
	static const struct iotr_layer_sum none[IOTR_LAYER_COUNT];

	return memcmp(account->sums, none, sizeof(none)) != 0;
}

static int account_read(struct layers *layers, uint32_t index, uint64_t now, layers_handler handler, void *userdata)
{
	struct kept *kept = kept_of(layers, index);
	struct layers_account *account;

	if (!kept)
		return -ENOMEM;
	account = &kept->account;
	account->index = index;
	account->key = layers->keys[index];
	account->kind = kind_of(index, &account->key);
	account->last = kept->leaving;
	process_look(layers, account);
	if (bpf_map_lookup_elem(map_of(layers, "layer_counts"), &index, layers->read) < 0)
		return -errno;
	counts_fold(kept, layers->read, layers->cpus);
	stacked_settle(layers, account);
	if (account->last || has_counted(account))
		handler(account, userdata);
	if (account->last) {
		account_release(layers, index);
	} else if (is_over(layers, account, now)) {
		account_leave(layers, account);
		kept->leaving = true;
	}
	return 0;
}

int layers_read(struct layers *layers, layers_handler handler, void *userdata)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	disks_look_again(&layers->disks);
	for (uint32_t index = 0; index < layers->count; index++) {
		int r;

		if (index >= IOTR_LAYER_FIRST && !key_is_set(&layers->keys[index]))
			continue;
		r = account_read(layers, index, now, handler, userdata);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- commands ---- */

int layers_follow(struct layers *layers, uint32_t process, uint32_t command)
{
	return families_add(map_of(layers, "layer_families"), process, command);
}

void layers_leave(struct layers *layers, uint32_t command)
{
	families_drop(map_of(layers, "layer_families"), command);
}

uint32_t layers_commands(const struct layers *layers, const struct iotr_layer_key *key)
{
	return families_find(map_of(layers, "layer_families"), key);
}

static uint64_t unfollowed(const struct layers *layers)
{
	uint32_t zero = 0;
	uint64_t count;

	return bpf_map_lookup_elem(map_of(layers, "layer_unfollowed"), &zero, &count) < 0 ? 0 : count;
}

/* ---- what is not counted, and what it costs ---- */

size_t layers_missing(const struct layers *layers, const struct layers_missing **ret)
{
	*ret = layers->missing;
	return layers->missing_count;
}

void layers_statistics(const struct layers *layers, struct layers_statistics *ret)
{
	struct probes_runs runs = { 0 };
	struct bpf_program *program;
	struct bpf_map *map;

	*ret = (struct layers_statistics){ .accounts = layers->used, .accounts_max = layers->count - IOTR_LAYER_FIRST };
	bpf_object__for_each_program(program, layers->object) {
		program_runs(bpf_program__fd(program), &runs);
		ret->missed += program_missed(bpf_program__fd(program));
	}
	ret->unfollowed = unfollowed(layers);
	ret->runs = runs.count;
	ret->run_ns = runs.ns;
	bpf_object__for_each_map(map, layers->object) {
		const char *name = map_shared_name(map);

		if (!name || !map_find(layers->probes, name))
			ret->memory += map_memory(bpf_map__fd(map));
	}
}

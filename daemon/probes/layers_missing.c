// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

#include "probes/layers_private.h"

#define BIT(layer) (1U << IOTR_LAYER_##layer)
#define FILESYSTEM                                                                              \
	(BIT(FS_READ) | BIT(FS_WRITE) | BIT(FS_METADATA_READ) | BIT(FS_METADATA_WRITE) | BIT(FS_JOURNAL_WRITE))
#define CACHE (BIT(CACHE_HIT) | BIT(CACHE_MISS) | BIT(CACHE_DIRTIED))
#define DEVICE (BIT(DEVICE_READ) | BIT(DEVICE_WRITE) | BIT(DEVICE_FLUSH) | BIT(DEVICE_DISCARD))

/* What is not told if none of the hook's programs is attached. Two names in one row: either will do. */
static const struct {
	const char *hook, *or_hook;
	uint32_t layers;
	bool inexact;
	const char *why;
} needs[] = {
	{ "sys_exit", NULL, BIT(APP_READ) | BIT(APP_WRITE) | BIT(APP_SYNC) | BIT(CACHE_HIT), false,
	  "system calls are not counted" },
	{ "sys_enter", NULL, BIT(APP_READ) | BIT(APP_WRITE) | BIT(APP_SYNC) | CACHE, true, "system calls have no latencies" },
	{ "io_uring_submit_req", "io_uring_submit_sqe", BIT(APP_READ) | BIT(APP_WRITE) | BIT(APP_SYNC), true,
	  "requests of io_uring have no latencies" },
	{ "mm_filemap_add_to_page_cache", NULL, BIT(CACHE_MISS) | BIT(CACHE_READAHEAD) | BIT(CACHE_HIT) | BIT(MAP_READ),
	  false, "pages that come into the page cache are not counted, and all that is read is a hit" },
	{ "writeback_dirty_folio", "writeback_dirty_page", BIT(CACHE_DIRTIED) | BIT(MAP_WRITE), false,
	  "pages that are made dirty are not counted" },
	{ "mm_filemap_fault", NULL, BIT(MAP_READ), false, "no hook tells which page a fault is for" },
	{ "mm_filemap_fault", NULL, BIT(CACHE_MISS), true, "pages that are read ahead for faults are among those missed" },
	{ "block_bio_queue", NULL, FILESYSTEM, false, "what file systems submit is not counted" },
	{ "block_bio_queue", NULL, DEVICE, true, "no process is known of requests" },
	{ "block_rq_issue", NULL, DEVICE, true, "no process and no latency is known of requests" },
	{ "block_rq_complete", NULL, DEVICE, false, "requests are not counted" },
	{ "block_rq_complete", NULL, FILESYSTEM, true, "what file systems submit has no latencies" },
	{ "block_bio_complete", NULL, DEVICE, true, "disks without requests are not counted" },
	{ "sched_process_fork", NULL, 0, true, "what children of a command do is not told apart" },
};

struct attachment {
	const struct bpf_object *object;
	bool (*attached)(const struct bpf_program *, const void *);
	const void *userdata;
};

static bool is_served(const struct attachment *attachment, const char *hook)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, (struct bpf_object *)attachment->object) {
		const char *name = strrchr(bpf_program__section_name(program), '/');

		if (name && !strcmp(name + 1, hook) && attachment->attached(program, attachment->userdata))
			return true;
	}
	return false;
}

/* Whether the kernel's completions name their requests of io_uring: those programs alone count them then. */
static bool uring_named(const struct attachment *attachment)
{
	return is_served(attachment, "io_uring_complete");
}

size_t missing_find(const struct bpf_object *object, bool (*attached)(const struct bpf_program *, const void *),
		    const void *userdata, struct layers_missing *missing)
{
	const struct attachment attachment = { object, attached, userdata };
	size_t count = 0;

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		if (is_served(&attachment, needs[i].hook) ||
		    (needs[i].or_hook && is_served(&attachment, needs[i].or_hook)))
			continue;
		missing[count++] = (struct layers_missing){ needs[i].layers, needs[i].inexact, needs[i].hook, needs[i].why };
	}
	if (!uring_named(&attachment))
		missing[count++] = (struct layers_missing){
			BIT(APP_READ) | BIT(APP_WRITE) | BIT(APP_SYNC) | BIT(CACHE_HIT), true, "io_uring_complete",
			"requests of io_uring count when they are submitted, with the bytes asked for, those with vectors "
			"with none, and have no latencies"
		};
	/* Of these no kernel has a hook. */
	missing[count++] = (struct layers_missing){
		BIT(APP_READ) | BIT(APP_WRITE), true, "io_submit",
		"operations of libaio count when they are submitted, with the bytes asked for, those with vectors with none"
	};
	missing[count++] = (struct layers_missing){
		BIT(DEVICE_WRITE), true, "block_bio_queue",
		"a request with pages that several processes made dirty counts for the one that did so with most of them"
	};
	return count;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The constants that are set in the programs before they are loaded: see maps.bpf.h. */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

struct rodata {
	bool typed_reads;
	uint32_t ring_shift;
	bool preempted;
	bool may_hold;
	uint32_t flow_cpu_bits;
	uint64_t text_key[2];
};

/* To be called before the object is loaded. -ENOMEM, or -EINVAL if the object lacks one of the constants. */
int rodata_set(struct bpf_object *object, const struct rodata *values);

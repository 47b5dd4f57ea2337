/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The number of a flow that begins now: see common/flow.h. */
#pragma once

#include "iotracer.bpf.h"
#include "flow.h"

/* `now`: of bpf_ktime_get_ns(), asked by the same program. */
static __always_inline __u64 flow_made(__u64 now)
{
	return iotr_flow(bpf_get_smp_processor_id(), flow_cpu_bits, now);
}

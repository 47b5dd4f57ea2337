/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The constants that programs are specialised by when they are loaded: see iotracer.bpf.h. */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

/* Before the object is loaded. -ENOMEM, or -EINVAL when it has other constants. */
int rodata_set(struct bpf_object *object, bool typed_reads, uint32_t ring_shift);

// SPDX-License-Identifier: GPL-2.0-or-later
/* The maps that all objects share, and no program. */
#include "iotracer.bpf.h"

char LICENSE[] SEC("license") = "GPL";

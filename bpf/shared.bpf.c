// SPDX-License-Identifier: GPL-2.0-or-later
/* The object with the maps that all others share; it has no program. */
#include "iotracer.bpf.h"

char LICENSE[] SEC("license") = "GPL";

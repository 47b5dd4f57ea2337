// SPDX-License-Identifier: GPL-2.0-or-later
#include "iotracer.bpf.h"
char LICENSE[] SEC("license") = "GPL";

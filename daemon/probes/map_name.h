/* SPDX-License-Identifier: GPL-2.0-or-later */
/* By which names the objects find the maps that they share. */
#pragma once

#include <bpf/libbpf.h>

#define SHARED_MAP ".bss" /* the map that is struct iotr_shared: see common/slot.h */

/* The name by which objects share a map, which is the map's; NULL: each object has its own, as of its constants. Any thread. */
const char *map_shared_name(const struct bpf_map *map);

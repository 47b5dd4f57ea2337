/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The map of the section .bss, which all objects share: struct iotr_shared, of which probes.c maps the control page. Any thread. */
#pragma once

#include <bpf/libbpf.h>

#include "slot.h"

/*
 * Makes the map for the first object, before that is loaded: libbpf would have the kernel copy all of it from one piece of
 * memory. 0 or a negative errno.
 */
int shared_map_create(struct bpf_map *map);

/* Whether an object has its variables where struct iotr_shared has them, or has none. */
bool shared_map_fits(const struct bpf_object *object);

/*
 * Calls the function for `count` slots, from the one at that offset in bytes on, until it returns something else than 0, which is
 * returned then; otherwise 0, or a negative errno. Programs may write to a slot meanwhile.
 */
int shared_map_slots(int map, size_t offset, size_t count, int (*call)(const struct slot *slot, void *userdata), void *userdata);

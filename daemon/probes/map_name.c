// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/map_name.h"

#include <string.h>

/* libbpf makes the map of the section .bss for each object, with the object's name in that of the map: one will do for all. */
const char *map_shared_name(const struct bpf_map *map)
{
	const char *name = bpf_map__name(map), *section = strrchr(name, '.');

	if (!bpf_map__is_internal(map))
		return name;
	return section && !strcmp(section, SHARED_MAP) ? SHARED_MAP : NULL;
}

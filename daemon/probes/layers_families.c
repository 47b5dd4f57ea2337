// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "probes/layers_private.h"

enum { DROP_LOOKS = 8 }; /* through the table, while processes begin that are still of the command */

/* When the process was started, in ticks since the machine was. The name in parentheses may have any bytes: the last one ends it. */
static int started(uint32_t process, uint64_t *ticks)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[32], text[1024], *end;
	size_t length;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", process);
	file = fopen(path, "re");
	length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[length] = '\0';
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %*c%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s %" SCNu64, ticks) != 1)
		return -ESRCH;
	return 0;
}

static struct iotr_layer_family family_of(uint32_t process, uint64_t ticks)
{
	return (struct iotr_layer_family){ .process = process, .started = (uint32_t)ticks };
}

int families_add(int map, uint32_t process, uint32_t command)
{
	struct iotr_layer_family family;
	uint32_t commands;
	uint64_t ticks;
	int r = started(process, &ticks);

	if (r < 0)
		return r;
	family = family_of(process, ticks);
	if (bpf_map_lookup_elem(map, &family, &commands) < 0)
		commands = 0;
	commands |= command;
	return bpf_map_update_elem(map, &family, &commands, BPF_ANY) < 0 ? -errno : 0;
}

/* Returns whether there were any. */
static bool drop_once(int map, uint32_t command)
{
	struct iotr_layer_family family, next;
	int r = bpf_map_get_next_key(map, NULL, &next);
	bool found = false;
	uint32_t commands;

	while (r == 0) {
		family = next;
		r = bpf_map_get_next_key(map, &family, &next);
		if (bpf_map_lookup_elem(map, &family, &commands) < 0 || !(commands & command))
			continue;
		found = true;
		commands &= ~command;
		if (commands)
			bpf_map_update_elem(map, &family, &commands, BPF_EXIST);
		else
			bpf_map_delete_elem(map, &family);
	}
	return found;
}

/* Again, as a process whose parent was still of the command may have begun behind the place that was looked at. */
void families_drop(int map, uint32_t command)
{
	for (int looks = 0; looks < DROP_LOOKS && drop_once(map, command); looks++)
		;
}

uint32_t families_find(int map, const struct iotr_layer_key *key)
{
	const struct iotr_layer_family family = family_of(key->process, key->start_ns / IOTR_LAYER_TICK_NS);
	uint32_t commands;

	return bpf_map_lookup_elem(map, &family, &commands) < 0 ? 0 : commands;
}

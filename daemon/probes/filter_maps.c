// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/filter_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#define KEY_MAX	     256 /* bytes of the largest key */
#define INHERIT_MAX  1000 /* maximum of passes */

int filter_key_change(int map, const void *key, uint64_t bit, bool set)
{
	uint64_t sessions = 0;
	bool known = !bpf_map_lookup_elem(map, key, &sessions);

	sessions = set ? sessions | bit : sessions & ~bit;
	if (!sessions)
		return bpf_map_delete_elem(map, key) < 0 && errno != ENOENT ? -errno : 0;
	if (bpf_map_update_elem(map, key, &sessions, known ? BPF_EXIST : BPF_NOEXIST) == 0)
		return 0;
	if (known && errno == ENOENT)
		return 0; /* the kernel side has removed the key meanwhile: it is not added again */
	return !known && errno == EEXIST ? filter_key_change(map, key, bit, set) : -errno;
}

static bool key_next(int map, const char *key, char *next)
{
	return bpf_map_get_next_key(map, key, next) == 0;
}

void filter_keys_clear(int map, uint64_t bit)
{
	char key[KEY_MAX], next[KEY_MAX];
	bool more = key_next(map, NULL, next);

	while (more) {
		memcpy(key, next, sizeof(key));
		more = key_next(map, key, next);
		filter_key_change(map, key, bit, false);
	}
}

int filter_keys_inherit(int map, uint64_t from, uint64_t bit)
{
	char key[KEY_MAX], next[KEY_MAX];
	bool missing = true;
	uint64_t sessions;
	int r = 0;

	for (int pass = 0; missing && pass < INHERIT_MAX && r >= 0; pass++) {
		bool more = key_next(map, NULL, next);

		missing = false;
		while (more && r >= 0) {
			memcpy(key, next, sizeof(key));
			more = key_next(map, key, next);
			if (bpf_map_lookup_elem(map, key, &sessions) < 0 || !(sessions & from) || sessions & bit)
				continue;
			missing = true;
			r = filter_key_change(map, key, bit, true);
		}
	}
	return r;
}

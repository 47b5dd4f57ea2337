/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BPF maps from a filter's value to the mask of sessions that accept it. Main thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Sets or clears the session's bit of a key; a key without bits is removed. Returns 0 or -errno. */
int filter_key_change(int map, const void *key, uint64_t bit, bool set);

/* Clears the bit of all keys, including those that the kernel side has added. */
void filter_keys_clear(int map, uint64_t bit);

/* Sets `bit` in all keys that have `from`; repeats until no key lacks it, as the kernel side may add some. */
int filter_keys_inherit(int map, uint64_t from, uint64_t bit);

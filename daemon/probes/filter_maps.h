/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps of the kernel side from a filter's value to the sessions that accept it. Main thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Sets or clears the session's bit of a key; a key without bits is removed. Negative errno. */
int filter_key_change(int map, const void *key, uint64_t bit, bool set);

/* Clears the bit of all keys, those included that the kernel side has added. */
void filter_keys_clear(int map, uint64_t bit);

/* Sets `bit` in all keys that have `from`, until none is left that has not: the kernel side may add some. */
int filter_keys_inherit(int map, uint64_t from, uint64_t bit);

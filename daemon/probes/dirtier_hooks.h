/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hooks that tell who caused what the kernel writes later, which rows of block and counts by layer are told with. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct dirtier_lack {
	const char *hook;   /* the kernel's name of it */
	const char *reason; /* a sentence: what is not known for want of it */
};

enum { DIRTIER_LACKS = 9 }; /* at most */

/*
 * Writes those that no program is loaded for, and returns how many they are. `blocks`: those that serve block requests alone are
 * among them.
 */
size_t dirtier_lacks(bool (*loaded)(const char *program, const void *userdata), const void *userdata, bool blocks,
		     struct dirtier_lack lacks[DIRTIER_LACKS]);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What bench_pread does in its loop. One thread; what fails leaves its errno. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct kind {
	const char *name;
	bool (*prepare)(const char *path, off_t offset); /* once */
	bool (*call)(unsigned long number); /* of the batch, from 0 */
};

/* NULL: there is none of that name. */
const struct kind *kind_find(const char *name);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extensions of file names that say what a file is and nothing of whose it is. What stands behind
 * a dot may as well be a name (john.smith), so only those of a list are taken for extensions.
 * Constant data and pure functions, usable from any thread.
 */
#pragma once

#include <stddef.h>

enum {
	EXTENSION_MAX = 8, /* bytes */
};

/*
 * The extension without its dot, in lower case; "" when there is none. Numbers at the end are passed
 * over (libc.so.6: so), two of them are one where that is usual (a.tar.gz: tar.gz), and a dot at the
 * beginning is part of the name (.bashrc, .zip: none).
 */
const char *extension_of(const char *name, size_t length);

/* The list, sorted; returns how many. */
size_t extensions_known(const char *const **ret);

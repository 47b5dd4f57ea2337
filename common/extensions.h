/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extensions of file names that show the kind of a file but nothing about its owner. The text after a dot may
 * be a name (john.smith), so only listed ones are treated as extensions. Constant data and pure functions,
 * usable from any thread.
 */
#pragma once

#include <stddef.h>

enum {
	EXTENSION_MAX = 8, /* bytes */
};

/*
 * Returns the extension without its dot, in lower case; "" if there is none. Trailing numbers are skipped
 * (libc.so.6: so), certain pairs count as one extension (a.tar.gz: tar.gz), and a leading dot is part of the
 * name (.bashrc, .zip: none).
 */
const char *extension_of(const char *name, size_t length);

/* Gets the sorted list; returns its length. */
size_t extensions_known(const char *const **ret);

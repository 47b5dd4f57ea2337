/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Suggests a word for one that does not exist: a candidate that differs in a few letters, or that begins with
 * the word. Case is ignored. Pure functions.
 */
#pragma once

struct iotr_nearest {
	const char *word;
	const char *best; /* best candidate so far, borrowed; NULL: none is near */
	unsigned int distance;
};

void iotr_nearest_try(struct iotr_nearest *nearest, const char *candidate);

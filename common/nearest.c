// SPDX-License-Identifier: GPL-2.0-or-later
#include "nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

enum {
	LETTERS_MAX = 64,
	BEGINNING_MIN = 2, /* shortest beginning of a word that matches the word */
};

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/*
 * Number of letters to insert, remove, replace, or swap with their neighbour (Damerau-Levenshtein distance,
 * with three rows of the matrix).
 */
static unsigned int distance_of(const char *a, size_t a_length, const char *b, size_t b_length)
{
	unsigned int rows[3][LETTERS_MAX + 1];
	unsigned int *above = rows[0], *before = rows[1], *now = rows[2];

	for (size_t j = 0; j <= b_length; j++)
		before[j] = (unsigned int)j;
	for (size_t i = 1; i <= a_length; i++) {
		unsigned int *free_row = above;

		now[0] = (unsigned int)i;
		for (size_t j = 1; j <= b_length; j++) {
			now[j] = before[j - 1] + !same(a[i - 1], b[j - 1]);
			now[j] = least(now[j], least(before[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
				now[j] = least(now[j], above[j - 2] + 1);
		}
		above = before;
		before = now;
		now = free_row;
	}
	return before[b_length];
}

/* Largest distance that is a plausible typing error in a word of that length. */
static unsigned int farthest(size_t length)
{
	return length < 4 ? 1 : length < 7 ? 2 : 3;
}

void iotr_nearest_try(struct iotr_nearest *nearest, const char *candidate)
{
	size_t length = strlen(nearest->word), other = strlen(candidate);
	unsigned int distance;

	if (length > LETTERS_MAX || other > LETTERS_MAX)
		return;
	if (length >= BEGINNING_MIN && !strncasecmp(candidate, nearest->word, length))
		distance = 0;
	else
		distance = distance_of(nearest->word, length, candidate, other);
	if (distance > farthest(length) || (nearest->best && distance >= nearest->distance))
		return;
	nearest->best = candidate;
	nearest->distance = distance;
}

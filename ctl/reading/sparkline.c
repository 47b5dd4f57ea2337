// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/sparkline.h"

#include <string.h>

#define HEIGHTS 8

void sparkline_write(const uint64_t *counts, size_t count, char *text, size_t size)
{
	uint64_t most = 0;
	char *at = text;

	for (size_t i = 0; i < count; i++)
		most = counts[i] > most ? counts[i] : most;
	for (size_t i = 0; i < count && (size_t)(at - text) + 4 <= size; i++) {
		unsigned int height = most ? (unsigned int)((double)counts[i] * (HEIGHTS - 1) / (double)most) : 0;
		char bar[] = { '\xe2', '\x96', (char)(0x81 + height), '\0' };

		at = stpcpy(at, counts[i] ? bar : " ");
	}
	*at = '\0';
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "csv.h"

char *csv_number(char *out, const struct cell *cell)
{
	return format_number(out, cell);
}

void csv_device_new(struct csv_device *kept, const struct cell *cell)
{
	char text[64];

	kept->device = cell->number;
	kept->length = (uint8_t)(csv_number(text, cell) - text);
	memcpy(kept->text, text, sizeof(kept->text));
}

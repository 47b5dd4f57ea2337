// SPDX-License-Identifier: GPL-2.0-or-later
#include "format_fields.h"

#include <string.h>

#include "format_values.h"

static char *write_field(char *out, const struct cell *cell)
{
	struct format_date date = { .second_ns = UINT64_MAX };

	if (cell->kind == CELL_TEXT)
		return mempcpy(out, cell->text, cell->length);
	if (cell->kind == CELL_TIME)
		return format_time(&date, out, cell->number);
	return format_number(out, cell);
}

size_t format_fields(const struct cell *cell, size_t count, char *out)
{
	char *at = out;

	for (size_t i = 0; i < count; i++) {
		at = write_field(at, &cell[i]);
		*at++ = '\0';
	}
	return (size_t)(at - out);
}

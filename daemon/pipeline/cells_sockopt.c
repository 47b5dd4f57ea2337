// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells.h"
#include "sockopts.h"

_Static_assert(SOCKOPTS_TEXT_MAX <= sizeof(((struct cells *)0)->pair), "no room for a value");

static struct cell name_or_number(const char *name, int32_t number)
{
	return name ? cell_string(name) : cell_signed(number);
}

void cells_fill_sockopt(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct iotr_sockopt_record *record = (const void *)row->record;
	bool quote;
	size_t length = sockopts_value(record, cells->pair, &quote);

	cell[SOCKOPT_fd] = cell_signed(record->fd);
	cell[SOCKOPT_level] = name_or_number(sockopts_level(record->level), record->level);
	cell[SOCKOPT_option_name] = name_or_number(sockopts_name(record->level, record->option),
						   record->option);
	cell[SOCKOPT_option_value] = cell_bytes(cells->pair, length, quote);
	cell[SOCKOPT_return_value] = cell_signed(record->result);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells_private.h"
#include "socket.h"
#include "sockopts.h"

_Static_assert(SOCKOPTS_TEXT_MAX <= sizeof(((struct cells *)0)->pair), "no room for a value");

static struct cell option_value(struct cells *cells, const struct iotr_sockopt_record *record)
{
	size_t length = sockopts_value(record, cells->pair);

	return cell_bytes(cells->pair, length);
}

CELLS_RECORD(SOCKOPT, struct iotr_sockopt_record);

CELL(SOCKOPT, fd, cell_signed(record->fd))
CELL(SOCKOPT, level, cell_named(cells, sockopts_level(record->level), record->level))
CELL(SOCKOPT, option_name, cell_named(cells, sockopts_name(record->level, record->option), record->option))
CELL(SOCKOPT, option_value, option_value(cells, record))
CELL(SOCKOPT, return_value, cell_result(record->result))

CELLS_FILL(SOCKOPT, sockopt)

// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells.h"

/* ADD, DEL or MOD; any other as the number that was passed. */
static struct cell op_name(int32_t op)
{
	static const char *const names[] = { "0", "ADD", "DEL", "MOD" };

	if (op >= 0 && op < (int32_t)(sizeof(names) / sizeof(names[0])))
		return cell_string(names[op]);
	return cell_signed(op);
}

static struct cell signed_if(bool known, int64_t number)
{
	return known ? cell_signed(number) : cell_empty();
}

void cells_fill_epoll(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct iotr_epoll_record *record = (const void *)row->record;
	bool ready = record->waits && record->result >= 0;
	bool ctl = record->head.operation == IOTR_EPOLL_EPOLL_CTL;

	cell[EPOLL_epoll_fd] = signed_if(record->has_epoll, record->epoll_fd);
	cell[EPOLL_target_fd] = signed_if(record->has_target, record->target_fd);
	cell[EPOLL_epoll_op] = ctl ? op_name(record->op) : cell_empty();
	cell[EPOLL_event_mask] = record->has_events ? cell_flags(cells, CELLS_FLAGS_VFS, IOTR_FLAGS_EPOLL,
								 0, record->events) :
						      cell_empty();
	cell[EPOLL_max_events] = signed_if(record->waits, record->max_events);
	cell[EPOLL_ready_count] = signed_if(ready, record->result);
	cell[EPOLL_timeout_ms] = signed_if(record->has_timeout, record->timeout_ms);
	cell[EPOLL_latency_ns] = cell_number(CELL_U64, record->head.latency_ns);
	cell[EPOLL_return_value] = cell_signed(record->result);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells.h"

static struct cell op_name(uint8_t op)
{
	static const char *const names[] = { "", "ADD", "DEL", "MOD" };

	return cell_string(op < sizeof(names) / sizeof(names[0]) ? names[op] : "");
}

static struct cell descriptor(int32_t fd)
{
	return fd < 0 ? cell_empty() : cell_number(CELL_U64, (uint64_t)fd);
}

void cells_fill_epoll(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct iotr_epoll_record *record = (const void *)row->record;
	bool ready = record->waits && record->result >= 0;

	cell[EPOLL_epoll_fd] = descriptor(record->epoll_fd);
	cell[EPOLL_target_fd] = descriptor(record->target_fd);
	cell[EPOLL_epoll_op] = op_name(record->op);
	cell[EPOLL_event_mask] = record->has_events ? cell_flags(cells, CELLS_FLAGS_VFS, IOTR_FLAGS_EPOLL,
								 0, record->events) :
						      cell_empty();
	cell[EPOLL_max_events] = record->waits ? cell_number(CELL_U64, record->max_events) : cell_empty();
	cell[EPOLL_ready_count] = ready ? cell_signed(record->result) : cell_empty();
	cell[EPOLL_timeout_ms] = record->waits ? cell_signed(record->timeout_ms) : cell_empty();
	cell[EPOLL_latency_ns] = cell_number(CELL_U64, record->head.latency_ns);
	cell[EPOLL_return_value] = cell_signed(record->result);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "cells_private.h"
#include "socket.h"

/* ADD, DEL or MOD; any other as the number that was passed. */
static struct cell op_name(struct cells *cells, int32_t op)
{
	static const char *const names[] = { NULL, "ADD", "DEL", "MOD" };
	bool known = op >= 0 && op < (int32_t)(sizeof(names) / sizeof(names[0]));

	return cell_named(cells, known ? names[op] : NULL, op);
}

static struct cell event_mask(struct cells *cells, const struct iotr_epoll_record *record)
{
	if (!record->has_events)
		return cell_empty();
	return cell_flags(cells, CELLS_FLAGS_VFS, IOTR_FLAGS_EPOLL, 0, record->events);
}

/* The descriptors that were ready, each between two '|': a text, also of one alone, in which any is found as |N|. */
static struct cell ready_fds(struct cells *cells, const struct iotr_epoll_record *record)
{
	char *at = cells->pair;

	for (size_t i = 0; i < record->ready_count && i < IOTR_READY_MAX; i++)
		at += sprintf(at, "%s%d|", i ? "" : "|", record->ready[i]);
	return cell_bytes(cells->pair, (size_t)(at - cells->pair));
}

CELLS_RECORD(EPOLL, struct iotr_epoll_record);

CELL(EPOLL, epoll_fd, cell_signed_if(record->has_epoll, record->epoll_fd))
CELL(EPOLL, target_fd, cell_signed_if(record->has_target, record->target_fd))
CELL(EPOLL, epoll_op, record->head.operation == IOTR_EPOLL_EPOLL_CTL ? op_name(cells, record->op) : cell_empty())
CELL(EPOLL, event_mask, event_mask(cells, record))
CELL(EPOLL, max_events, cell_signed_if(record->waits, record->max_events))
CELL(EPOLL, ready_count, cell_signed_if(record->waits && record->result >= 0, record->result))
CELL(EPOLL, timeout_ms, cell_signed_if(record->has_timeout, record->timeout_ms))
CELL(EPOLL, latency_ns, cell_number(CELL_U64, record->head.latency_ns))
CELL(EPOLL, return_value, cell_result(record->result))
CELL(EPOLL, ready_fds, ready_fds(cells, record))

CELLS_FILL(EPOLL, epoll)

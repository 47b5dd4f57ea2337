// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells.h"

#include <arpa/inet.h>
#include <netinet/in.h>

/* The kernel's numbers of a connection's states. */
static const char *const states[] = {
	[1] = "ESTABLISHED", [2] = "SYN_SENT",	[3] = "SYN_RECV",   [4] = "FIN_WAIT1",
	[5] = "FIN_WAIT2",   [6] = "TIME_WAIT", [7] = "CLOSE",	    [8] = "CLOSE_WAIT",
	[9] = "LAST_ACK",    [10] = "LISTEN",	[11] = "CLOSING",   [12] = "NEW_SYN_RECV",
};

static struct cell state_name(uint8_t state)
{
	if (state >= sizeof(states) / sizeof(states[0]) || !states[state])
		return cell_number(CELL_U64, state);
	return cell_string(states[state]);
}

/* A socket for both versions has addresses of the older in those of the newer. */
static bool is_mapped(const uint8_t *bytes)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(bytes, prefix, sizeof(prefix));
}

static struct cell address(int version, bool mapped, const uint8_t *bytes, char *text)
{
	if (!version || !inet_ntop(version == 4 ? AF_INET : AF_INET6, mapped ? bytes + 12 : bytes, text,
				   INET6_ADDRSTRLEN))
		return cell_empty();
	return cell_string(text);
}

void cells_fill_drop(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct iotr_drop_record *record = (const void *)row->record;
	bool mapped = record->version == 6 && is_mapped(record->dest);
	int version = mapped ? 4 : record->version;

	cell[DROP_protocol] = cell_string("TCP");
	cell[DROP_ip_version] = cell_number(version ? CELL_U64 : CELL_EMPTY, (uint64_t)version);
	cell[DROP_source_addr] = address(version, mapped, record->source, cells->pair);
	cell[DROP_dest_addr] = address(version, mapped, record->dest, cells->pair + INET6_ADDRSTRLEN);
	cell[DROP_source_port] = cell_number(CELL_U64, record->source_port);
	cell[DROP_dest_port] = cell_number(CELL_U64, record->dest_port);
	cell[DROP_tcp_state] = state_name(record->state);
	cell[DROP_packet_size] = cell_number(CELL_U64, record->packet_size);
}

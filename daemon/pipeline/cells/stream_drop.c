// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells_private.h"

#include <arpa/inet.h>
#include <netinet/in.h>

/* States of a TCP connection by the kernel's numbers. */
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

/* Whether it is an IPv4-mapped IPv6 address, as a dual-stack socket has for an IPv4 connection. */
static bool is_mapped(const uint8_t *bytes)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(bytes, prefix, sizeof(prefix));
}

/* The IP version of the addresses as they are shown; 0: unknown. */
static int version_of(const struct iotr_drop_record *record)
{
	return record->version == 6 && is_mapped(record->dest) ? 4 : record->version;
}

static struct cell address(const struct iotr_drop_record *record, const uint8_t *bytes, char *text)
{
	int version = version_of(record);
	bool mapped = version != record->version;

	if (!version || !inet_ntop(version == 4 ? AF_INET : AF_INET6, mapped ? bytes + 12 : bytes, text,
				   INET6_ADDRSTRLEN))
		return cell_empty();
	return cell_string(text);
}

static struct cell ip_version(int version)
{
	return cell_number(version ? CELL_U64 : CELL_EMPTY, (uint64_t)version);
}

CELLS_RECORD(DROP, struct iotr_drop_record);

CELL(DROP, protocol, cell_string("TCP"))
CELL(DROP, ip_version, ip_version(version_of(record)))
CELL(DROP, source_addr, address(record, record->source, cells->pair))
CELL(DROP, dest_addr, address(record, record->dest, cells->pair + INET6_ADDRSTRLEN))
CELL(DROP, source_port, cell_number(CELL_U64, record->source_port))
CELL(DROP, dest_port, cell_number(CELL_U64, record->dest_port))
CELL(DROP, tcp_state, state_name(record->state))
CELL(DROP, packet_size, cell_number(CELL_U64, record->packet_size))
CELL(DROP, segments, cell_number(record->segments ? CELL_U64 : CELL_EMPTY, record->segments))

CELLS_FILL(DROP, drop)

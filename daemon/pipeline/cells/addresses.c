// SPDX-License-Identifier: GPL-2.0-or-later
#include "addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "digits.h"

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

static bool is_mapped(const uint8_t end[16])
{
	return !memcmp(end, mapped, sizeof(mapped));
}

unsigned int address_version(const struct iotr_socket *socket)
{
	if (socket->family == AF_INET)
		return 4;
	if (socket->family != AF_INET6)
		return 0;
	return is_mapped(socket->local) || is_mapped(socket->remote) ? 4 : 6;
}

bool address_known(const struct iotr_socket *socket, const uint8_t end[16], uint16_t port)
{
	static const uint8_t none[16];

	return address_version(socket) && (port || memcmp(end, none, sizeof(none)));
}

bool address_has_ports(const struct iotr_socket *socket)
{
	return address_version(socket) && socket->type != SOCK_RAW &&
	       socket->protocol != IPPROTO_ICMP && socket->protocol != IPPROTO_ICMPV6;
}

static size_t text_v4(const uint8_t bytes[4], char *out)
{
	char *at = out;

	for (int i = 0; i < 4; i++) {
		at = digits_u27(at, bytes[i]);
		*at++ = '.';
	}
	return (size_t)(at - out) - 1;
}

size_t address_text(const struct iotr_socket *socket, const uint8_t end[16], char *out)
{
	char text[INET6_ADDRSTRLEN];

	if (socket->family == AF_INET)
		return text_v4(end, out);
	if (address_version(socket) == 4) /* the other end may be the wildcard address, zero in both families */
		return text_v4(end + 12, out);
	if (!inet_ntop(AF_INET6, end, text, sizeof(text)))
		return 0;
	memcpy(out, text, strlen(text));
	return strlen(text);
}

size_t address_unix(const char *name, size_t length, char *out)
{
	if (!length)
		return 0;
	if (name[0])
		return escape_field(name, strnlen(name, length), out);
	out[0] = '@';
	return 1 + escape_cell(name + 1, length - 1, out + 1);
}

#define NAMED(number) [number] = #number
#define LOOK_UP(table, number)                                                                  \
	((number) >= 0 && (size_t)(number) < sizeof(table) / sizeof((table)[0]) ? (table)[number] : NULL)

const char *address_domain(int32_t domain)
{
	static const char *const names[] = {
		NAMED(AF_UNSPEC), NAMED(AF_UNIX), NAMED(AF_INET), NAMED(AF_INET6),
		NAMED(AF_NETLINK), NAMED(AF_PACKET),
	};

	return LOOK_UP(names, domain);
}

const char *address_type(int32_t type)
{
	static const char *const names[] = {
		NAMED(SOCK_STREAM), NAMED(SOCK_DGRAM), NAMED(SOCK_RAW), NAMED(SOCK_RDM),
		NAMED(SOCK_SEQPACKET), NAMED(SOCK_DCCP), NAMED(SOCK_PACKET),
	};

	return LOOK_UP(names, type);
}

const char *address_protocol(int32_t protocol)
{
	static const char *const names[] = {
		[IPPROTO_ICMP] = "ICMP", [IPPROTO_IGMP] = "IGMP", [IPPROTO_TCP] = "TCP",
		[IPPROTO_UDP] = "UDP", [IPPROTO_DCCP] = "DCCP", [IPPROTO_GRE] = "GRE",
		[IPPROTO_ESP] = "ESP", [IPPROTO_AH] = "AH", [IPPROTO_ICMPV6] = "ICMPV6",
		[IPPROTO_SCTP] = "SCTP", [IPPROTO_UDPLITE] = "UDPLITE", [IPPROTO_RAW] = "RAW",
		[IPPROTO_MPTCP] = "MPTCP",
	};

	return LOOK_UP(names, protocol);
}

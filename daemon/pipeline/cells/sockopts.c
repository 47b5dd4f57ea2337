// SPDX-License-Identifier: GPL-2.0-or-later
#include "sockopts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* How a value is read. */
enum kind {
	AUTO,	  /* 4 bytes or 1 as a number, otherwise hex */
	INT,
	UNSIGNED, /* of 4 or 8 bytes */
	LINGER,	  /* struct linger */
	TIME,	  /* struct timeval of the ABI */
	TIME64,	  /* the same with 64-bit members, in any ABI */
	TEXT,
	HEX,
};

struct option {
	const char *name; /* NULL: no option has this number */
	enum kind kind;
};

/* Numbers and not the headers' names: those know of fewer options than the kernel that is traced. */
#define OPTION(number, name, kind) [number] = { #name, kind },

static const struct option socket_options[] = {
	OPTION(1, SO_DEBUG, INT) OPTION(2, SO_REUSEADDR, INT) OPTION(3, SO_TYPE, INT)
	OPTION(4, SO_ERROR, INT) OPTION(5, SO_DONTROUTE, INT) OPTION(6, SO_BROADCAST, INT)
	OPTION(7, SO_SNDBUF, INT) OPTION(8, SO_RCVBUF, INT) OPTION(9, SO_KEEPALIVE, INT)
	OPTION(10, SO_OOBINLINE, INT) OPTION(11, SO_NO_CHECK, INT) OPTION(12, SO_PRIORITY, INT)
	OPTION(13, SO_LINGER, LINGER) OPTION(14, SO_BSDCOMPAT, INT) OPTION(15, SO_REUSEPORT, INT)
	OPTION(16, SO_PASSCRED, INT) OPTION(17, SO_PEERCRED, HEX) OPTION(18, SO_RCVLOWAT, INT)
	OPTION(19, SO_SNDLOWAT, INT) OPTION(20, SO_RCVTIMEO_OLD, TIME)
	OPTION(21, SO_SNDTIMEO_OLD, TIME) OPTION(22, SO_SECURITY_AUTHENTICATION, AUTO)
	OPTION(23, SO_SECURITY_ENCRYPTION_TRANSPORT, AUTO)
	OPTION(24, SO_SECURITY_ENCRYPTION_NETWORK, AUTO) OPTION(25, SO_BINDTODEVICE, TEXT)
	OPTION(26, SO_ATTACH_FILTER, HEX) OPTION(27, SO_DETACH_FILTER, AUTO)
	OPTION(28, SO_PEERNAME, HEX) OPTION(29, SO_TIMESTAMP_OLD, INT)
	OPTION(30, SO_ACCEPTCONN, INT) OPTION(31, SO_PEERSEC, TEXT) OPTION(32, SO_SNDBUFFORCE, INT)
	OPTION(33, SO_RCVBUFFORCE, INT) OPTION(34, SO_PASSSEC, INT)
	OPTION(35, SO_TIMESTAMPNS_OLD, INT) OPTION(36, SO_MARK, UNSIGNED)
	OPTION(37, SO_TIMESTAMPING_OLD, AUTO) OPTION(38, SO_PROTOCOL, INT)
	OPTION(39, SO_DOMAIN, INT) OPTION(40, SO_RXQ_OVFL, INT) OPTION(41, SO_WIFI_STATUS, INT)
	OPTION(42, SO_PEEK_OFF, INT) OPTION(43, SO_NOFCS, INT) OPTION(44, SO_LOCK_FILTER, INT)
	OPTION(45, SO_SELECT_ERR_QUEUE, INT) OPTION(46, SO_BUSY_POLL, INT)
	OPTION(47, SO_MAX_PACING_RATE, UNSIGNED) OPTION(48, SO_BPF_EXTENSIONS, INT)
	OPTION(49, SO_INCOMING_CPU, INT) OPTION(50, SO_ATTACH_BPF, INT)
	OPTION(51, SO_ATTACH_REUSEPORT_CBPF, HEX) OPTION(52, SO_ATTACH_REUSEPORT_EBPF, INT)
	OPTION(53, SO_CNX_ADVICE, INT) OPTION(55, SO_MEMINFO, HEX)
	OPTION(56, SO_INCOMING_NAPI_ID, UNSIGNED) OPTION(57, SO_COOKIE, UNSIGNED)
	OPTION(59, SO_PEERGROUPS, HEX) OPTION(60, SO_ZEROCOPY, INT) OPTION(61, SO_TXTIME, HEX)
	OPTION(62, SO_BINDTOIFINDEX, INT) OPTION(63, SO_TIMESTAMP_NEW, INT)
	OPTION(64, SO_TIMESTAMPNS_NEW, INT) OPTION(65, SO_TIMESTAMPING_NEW, AUTO)
	OPTION(66, SO_RCVTIMEO_NEW, TIME64) OPTION(67, SO_SNDTIMEO_NEW, TIME64)
	OPTION(68, SO_DETACH_REUSEPORT_BPF, AUTO) OPTION(69, SO_PREFER_BUSY_POLL, INT)
	OPTION(70, SO_BUSY_POLL_BUDGET, INT) OPTION(71, SO_NETNS_COOKIE, UNSIGNED)
	OPTION(72, SO_BUF_LOCK, INT) OPTION(73, SO_RESERVE_MEM, INT) OPTION(74, SO_TXREHASH, INT)
	OPTION(75, SO_RCVMARK, INT) OPTION(76, SO_PASSPIDFD, INT) OPTION(77, SO_PEERPIDFD, INT)
	OPTION(78, SO_DEVMEM_LINEAR, AUTO) OPTION(79, SO_DEVMEM_DMABUF, AUTO)
	OPTION(80, SO_DEVMEM_DONTNEED, HEX) OPTION(82, SO_RCVPRIORITY, INT)
	OPTION(83, SO_PASSRIGHTS, INT) OPTION(84, SO_INQ, INT)
};

static const struct option tcp_options[] = {
	OPTION(1, TCP_NODELAY, INT) OPTION(2, TCP_MAXSEG, INT) OPTION(3, TCP_CORK, INT)
	OPTION(4, TCP_KEEPIDLE, INT) OPTION(5, TCP_KEEPINTVL, INT) OPTION(6, TCP_KEEPCNT, INT)
	OPTION(7, TCP_SYNCNT, INT) OPTION(8, TCP_LINGER2, INT) OPTION(9, TCP_DEFER_ACCEPT, INT)
	OPTION(10, TCP_WINDOW_CLAMP, INT) OPTION(11, TCP_INFO, HEX) OPTION(12, TCP_QUICKACK, INT)
	OPTION(13, TCP_CONGESTION, TEXT) OPTION(14, TCP_MD5SIG, HEX)
	OPTION(16, TCP_THIN_LINEAR_TIMEOUTS, INT) OPTION(17, TCP_THIN_DUPACK, INT)
	OPTION(18, TCP_USER_TIMEOUT, INT) OPTION(19, TCP_REPAIR, INT)
	OPTION(20, TCP_REPAIR_QUEUE, INT) OPTION(21, TCP_QUEUE_SEQ, UNSIGNED)
	OPTION(22, TCP_REPAIR_OPTIONS, HEX) OPTION(23, TCP_FASTOPEN, INT)
	OPTION(24, TCP_TIMESTAMP, UNSIGNED) OPTION(25, TCP_NOTSENT_LOWAT, UNSIGNED)
	OPTION(26, TCP_CC_INFO, HEX) OPTION(27, TCP_SAVE_SYN, INT) OPTION(28, TCP_SAVED_SYN, HEX)
	OPTION(29, TCP_REPAIR_WINDOW, HEX) OPTION(30, TCP_FASTOPEN_CONNECT, INT)
	OPTION(31, TCP_ULP, TEXT) OPTION(32, TCP_MD5SIG_EXT, HEX) OPTION(33, TCP_FASTOPEN_KEY, HEX)
	OPTION(34, TCP_FASTOPEN_NO_COOKIE, INT) OPTION(35, TCP_ZEROCOPY_RECEIVE, HEX)
	OPTION(36, TCP_INQ, INT) OPTION(37, TCP_TX_DELAY, INT) OPTION(38, TCP_AO_ADD_KEY, HEX)
	OPTION(39, TCP_AO_DEL_KEY, HEX) OPTION(40, TCP_AO_INFO, HEX)
	OPTION(41, TCP_AO_GET_KEYS, HEX) OPTION(42, TCP_AO_REPAIR, HEX)
	OPTION(43, TCP_IS_MPTCP, INT) OPTION(44, TCP_RTO_MAX_MS, INT)
	OPTION(45, TCP_RTO_MIN_US, INT) OPTION(46, TCP_DELACK_MAX_US, INT)
};

static const struct option ip_options[] = {
	OPTION(1, IP_TOS, AUTO) OPTION(2, IP_TTL, AUTO) OPTION(3, IP_HDRINCL, AUTO)
	OPTION(4, IP_OPTIONS, AUTO) OPTION(5, IP_ROUTER_ALERT, AUTO) OPTION(6, IP_RECVOPTS, AUTO)
	OPTION(7, IP_RETOPTS, AUTO) OPTION(8, IP_PKTINFO, AUTO) OPTION(9, IP_PKTOPTIONS, AUTO)
	OPTION(10, IP_MTU_DISCOVER, AUTO) OPTION(11, IP_RECVERR, AUTO) OPTION(12, IP_RECVTTL, AUTO)
	OPTION(13, IP_RECVTOS, AUTO) OPTION(14, IP_MTU, AUTO) OPTION(15, IP_FREEBIND, AUTO)
	OPTION(16, IP_IPSEC_POLICY, AUTO) OPTION(17, IP_XFRM_POLICY, AUTO)
	OPTION(18, IP_PASSSEC, AUTO) OPTION(19, IP_TRANSPARENT, AUTO)
	OPTION(20, IP_ORIGDSTADDR, AUTO) OPTION(21, IP_MINTTL, AUTO) OPTION(22, IP_NODEFRAG, AUTO)
	OPTION(23, IP_CHECKSUM, AUTO) OPTION(24, IP_BIND_ADDRESS_NO_PORT, AUTO)
	OPTION(25, IP_RECVFRAGSIZE, AUTO) OPTION(26, IP_RECVERR_RFC4884, AUTO)
	OPTION(32, IP_MULTICAST_IF, HEX) OPTION(33, IP_MULTICAST_TTL, AUTO)
	OPTION(34, IP_MULTICAST_LOOP, AUTO) OPTION(35, IP_ADD_MEMBERSHIP, AUTO)
	OPTION(36, IP_DROP_MEMBERSHIP, AUTO) OPTION(37, IP_UNBLOCK_SOURCE, AUTO)
	OPTION(38, IP_BLOCK_SOURCE, AUTO) OPTION(39, IP_ADD_SOURCE_MEMBERSHIP, AUTO)
	OPTION(40, IP_DROP_SOURCE_MEMBERSHIP, AUTO) OPTION(41, IP_MSFILTER, AUTO)
	OPTION(42, MCAST_JOIN_GROUP, AUTO) OPTION(43, MCAST_BLOCK_SOURCE, AUTO)
	OPTION(44, MCAST_UNBLOCK_SOURCE, AUTO) OPTION(45, MCAST_LEAVE_GROUP, AUTO)
	OPTION(46, MCAST_JOIN_SOURCE_GROUP, AUTO) OPTION(47, MCAST_LEAVE_SOURCE_GROUP, AUTO)
	OPTION(48, MCAST_MSFILTER, AUTO) OPTION(49, IP_MULTICAST_ALL, AUTO)
	OPTION(50, IP_UNICAST_IF, AUTO) OPTION(51, IP_LOCAL_PORT_RANGE, AUTO)
	OPTION(52, IP_PROTOCOL, AUTO)
};

static const struct option ipv6_options[] = {
	OPTION(1, IPV6_ADDRFORM, AUTO) OPTION(2, IPV6_2292PKTINFO, AUTO)
	OPTION(3, IPV6_2292HOPOPTS, AUTO) OPTION(4, IPV6_2292DSTOPTS, AUTO)
	OPTION(5, IPV6_2292RTHDR, AUTO) OPTION(6, IPV6_2292PKTOPTIONS, AUTO)
	OPTION(7, IPV6_CHECKSUM, AUTO) OPTION(8, IPV6_2292HOPLIMIT, AUTO)
	OPTION(9, IPV6_NEXTHOP, AUTO) OPTION(10, IPV6_AUTHHDR, AUTO) OPTION(11, IPV6_FLOWINFO, AUTO)
	OPTION(16, IPV6_UNICAST_HOPS, AUTO) OPTION(17, IPV6_MULTICAST_IF, AUTO)
	OPTION(18, IPV6_MULTICAST_HOPS, AUTO) OPTION(19, IPV6_MULTICAST_LOOP, AUTO)
	OPTION(20, IPV6_ADD_MEMBERSHIP, AUTO) OPTION(21, IPV6_DROP_MEMBERSHIP, AUTO)
	OPTION(22, IPV6_ROUTER_ALERT, AUTO) OPTION(23, IPV6_MTU_DISCOVER, AUTO)
	OPTION(24, IPV6_MTU, AUTO) OPTION(25, IPV6_RECVERR, AUTO) OPTION(26, IPV6_V6ONLY, AUTO)
	OPTION(27, IPV6_JOIN_ANYCAST, AUTO) OPTION(28, IPV6_LEAVE_ANYCAST, AUTO)
	OPTION(29, IPV6_MULTICAST_ALL, AUTO) OPTION(30, IPV6_ROUTER_ALERT_ISOLATE, AUTO)
	OPTION(31, IPV6_RECVERR_RFC4884, AUTO) OPTION(32, IPV6_FLOWLABEL_MGR, AUTO)
	OPTION(33, IPV6_FLOWINFO_SEND, AUTO) OPTION(34, IPV6_IPSEC_POLICY, AUTO)
	OPTION(35, IPV6_XFRM_POLICY, AUTO) OPTION(36, IPV6_HDRINCL, AUTO)
	OPTION(42, MCAST_JOIN_GROUP, AUTO) OPTION(43, MCAST_BLOCK_SOURCE, AUTO)
	OPTION(44, MCAST_UNBLOCK_SOURCE, AUTO) OPTION(45, MCAST_LEAVE_GROUP, AUTO)
	OPTION(46, MCAST_JOIN_SOURCE_GROUP, AUTO) OPTION(47, MCAST_LEAVE_SOURCE_GROUP, AUTO)
	OPTION(48, MCAST_MSFILTER, AUTO) OPTION(49, IPV6_RECVPKTINFO, AUTO)
	OPTION(50, IPV6_PKTINFO, AUTO) OPTION(51, IPV6_RECVHOPLIMIT, AUTO)
	OPTION(52, IPV6_HOPLIMIT, AUTO) OPTION(53, IPV6_RECVHOPOPTS, AUTO)
	OPTION(54, IPV6_HOPOPTS, AUTO) OPTION(55, IPV6_RTHDRDSTOPTS, AUTO)
	OPTION(56, IPV6_RECVRTHDR, AUTO) OPTION(57, IPV6_RTHDR, AUTO)
	OPTION(58, IPV6_RECVDSTOPTS, AUTO) OPTION(59, IPV6_DSTOPTS, AUTO)
	OPTION(60, IPV6_RECVPATHMTU, AUTO) OPTION(61, IPV6_PATHMTU, AUTO)
	OPTION(62, IPV6_DONTFRAG, AUTO) OPTION(63, IPV6_USE_MIN_MTU, AUTO)
	OPTION(66, IPV6_RECVTCLASS, AUTO) OPTION(67, IPV6_TCLASS, AUTO)
	OPTION(70, IPV6_AUTOFLOWLABEL, AUTO) OPTION(73, IPV6_MINHOPCOUNT, AUTO)
	OPTION(74, IPV6_ORIGDSTADDR, AUTO) OPTION(75, IPV6_TRANSPARENT, AUTO)
	OPTION(76, IPV6_UNICAST_IF, AUTO) OPTION(77, IPV6_RECVFRAGSIZE, AUTO)
	OPTION(78, IPV6_FREEBIND, AUTO)
};

static const struct option udp_options[] = {
	OPTION(1, UDP_CORK, AUTO) OPTION(100, UDP_ENCAP, AUTO) OPTION(101, UDP_NO_CHECK6_TX, AUTO)
	OPTION(102, UDP_NO_CHECK6_RX, AUTO) OPTION(103, UDP_SEGMENT, AUTO)
	OPTION(104, UDP_GRO, AUTO)
};

static const struct level {
	int32_t number;
	const char *name;
	const struct option *options;
	size_t count;
} levels[] = {
	{ 1, "SOL_SOCKET", socket_options, LENGTH(socket_options) },
	{ 6, "IPPROTO_TCP", tcp_options, LENGTH(tcp_options) },
	{ 0, "IPPROTO_IP", ip_options, LENGTH(ip_options) },
	{ 41, "IPPROTO_IPV6", ipv6_options, LENGTH(ipv6_options) },
	{ 17, "IPPROTO_UDP", udp_options, LENGTH(udp_options) },
};

static const struct level *find_level(int32_t number)
{
	for (size_t i = 0; i < LENGTH(levels); i++)
		if (levels[i].number == number)
			return &levels[i];
	return NULL;
}

static const struct option *find_option(int32_t level, int32_t number)
{
	static const struct option none = { NULL, AUTO };
	const struct level *found = find_level(level);

	if (!found || number < 0 || (size_t)number >= found->count)
		return &none;
	return &found->options[number];
}

const char *sockopts_level(int32_t level)
{
	const struct level *found = find_level(level);

	return found ? found->name : NULL;
}

const char *sockopts_name(int32_t level, int32_t number)
{
	return find_option(level, number)->name;
}

/* ---- values ---- */

static size_t hex(const uint8_t *value, size_t size, char *text)
{
	size_t length = (size_t)sprintf(text, "#0x");

	for (size_t i = 0; i < size; i++)
		length += (size_t)sprintf(text + length, "%02x", value[i]);
	return length;
}

/* The number in the first bytes, at most 8, in the byte order of the machine that runs both programs. */
static uint64_t number_of(const uint8_t *value, size_t size)
{
	uint64_t number = 0;

	memcpy(&number, value, size > sizeof(number) ? sizeof(number) : size);
	return number;
}

static size_t integer(const uint8_t *value, size_t size, char *text)
{
	if (size < sizeof(int32_t))
		return (size_t)sprintf(text, "#%" PRIu64, number_of(value, size));
	return (size_t)sprintf(text, "#%" PRId32, (int32_t)number_of(value, sizeof(int32_t)));
}

static size_t natural(const uint8_t *value, size_t size, char *text)
{
	if (size > sizeof(uint32_t) && size < sizeof(uint64_t))
		size = sizeof(uint32_t);
	return (size_t)sprintf(text, "#%" PRIu64, number_of(value, size));
}

static size_t linger(const uint8_t *value, size_t size, char *text)
{
	int32_t parts[2];

	if (size < sizeof(parts))
		return hex(value, size, text);
	memcpy(parts, value, sizeof(parts));
	return (size_t)sprintf(text, "#%" PRId32 ":%" PRId32, parts[0], parts[1]);
}

/* Seconds with microseconds. A value whose microseconds are not within a second is no time, and shown as hex. */
static size_t timeval(const uint8_t *value, size_t size, bool narrow, char *text)
{
	int64_t parts[2];
	int32_t compat[2];

	if (size < (narrow ? sizeof(compat) : sizeof(parts)))
		return hex(value, size, text);
	if (!narrow) {
		memcpy(parts, value, sizeof(parts));
	} else {
		memcpy(compat, value, sizeof(compat));
		parts[0] = compat[0];
		parts[1] = compat[1];
	}
	if (parts[1] < 0 || parts[1] >= 1000000)
		return hex(value, size, text);
	return (size_t)sprintf(text, "#%" PRId64 ".%06" PRId64, parts[0], parts[1]);
}

static size_t plain_text(const uint8_t *value, size_t size, char *text)
{
	return escape_field((const char *)value, strnlen((const char *)value, size), text);
}

size_t sockopts_value(const struct iotr_sockopt_record *record, char *text)
{
	enum kind kind = find_option(record->level, record->option)->kind;
	const uint8_t *value = record->value;
	size_t size = record->size > sizeof(record->value) ? sizeof(record->value) : record->size;

	if (kind == AUTO)
		kind = record->length == 4 || record->length == 1 ? INT : HEX;
	if (!size)
		return 0;
	switch (kind) {
	case INT:
		return integer(value, size, text);
	case UNSIGNED:
		return natural(value, size, text);
	case LINGER:
		return linger(value, size, text);
	case TIME:
	case TIME64:
		return timeval(value, size, kind == TIME && record->compat, text);
	case TEXT:
		return plain_text(value, size, text);
	default:
		return hex(value, size, text);
	}
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/config_parse.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "log.h"
#include "session_spec.h"
#include "units.h"

#define RING_SIZE_MIN (1ULL << 20)
#define RING_SIZE_MAX (1ULL << 30)

const char *config_parse_log_level(const char *value, void *field)
{
	int level = log_level_find(value);

	if (level < 0)
		return "it is none of error, warning, notice, info, debug";
	*(int *)field = level;
	return NULL;
}

const char *config_parse_directory(const char *value, void *field)
{
	if (*value != '/')
		return "the path is not absolute";
	if (strlen(value) >= PATH_MAX)
		return "the path is too long";
	strcpy(field, value);
	return NULL;
}

/* The word "off" gives port 0. Other machines are not served, as there is no way to tell who asks. */
const char *config_parse_listen(const char *value, void *field)
{
	static const char wrong[] =
		"it is neither off nor an address of this machine alone, with a port, as 127.0.0.1:9469";
	struct sockaddr_in address = { .sin_family = AF_INET };
	const char *colon = strrchr(value, ':');
	char text[INET_ADDRSTRLEN] = "";
	uint64_t port;

	if (!strcmp(value, "off")) {
		*(struct sockaddr_in *)field = (struct sockaddr_in){ 0 };
		return NULL;
	}
	if (!colon || (size_t)(colon - value) >= sizeof(text) || iotr_parse_number(colon + 1, UINT16_MAX, &port) < 0 || !port)
		return wrong;
	memcpy(text, value, (size_t)(colon - value));
	if (inet_pton(AF_INET, text, &address.sin_addr) != 1 || ntohl(address.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET)
		return wrong;
	address.sin_port = htons((uint16_t)port);
	*(struct sockaddr_in *)field = address;
	return NULL;
}

const char *config_parse_text_file(const char *value, void *field)
{
	size_t length = strlen(value);

	if (length < 6 || strcmp(value + length - 5, ".prom") != 0)
		return "its name does not end with .prom, as node exporter wants it";
	return config_parse_directory(value, field);
}

/* A time that is not off, and at most a day. */
const char *config_parse_period(const char *value, void *field)
{
	uint64_t ns = 0;

	if (iotr_parse_duration(value, &ns) < 0 || ns < 1000000000 || ns > 86400 * 1000000000ULL)
		return "it is no duration from 1s to 1d, as 15s";
	*(uint64_t *)field = ns;
	return NULL;
}

/* The word "off" gives 0. */
const char *config_parse_interval(const char *value, void *field)
{
	uint64_t ns = 0;

	if (strcmp(value, "off") && iotr_parse_duration(value, &ns) < 0)
		return "it is neither a duration, as 5m, nor off";
	if (strcmp(value, "off") && (ns < IOTR_SNAPSHOTS_INTERVAL_MIN || ns > INT64_MAX))
		return "it is less than a second, or more than 64 bits hold";
	*(uint64_t *)field = ns;
	return NULL;
}

const char *config_parse_depth(const char *value, void *field)
{
	uint64_t depth;

	if (iotr_parse_number(value, IOTR_SNAPSHOTS_DEPTH_MAX, &depth) < 0)
		return "it is not a number from 0 to 65535";
	*(uint32_t *)field = (uint32_t)depth;
	return NULL;
}

const char *config_parse_country(const char *value, void *field)
{
	if (strlen(value) != 2 || !isupper((unsigned char)value[0]) || !isupper((unsigned char)value[1]))
		return "it is not a country's two capital letters";
	strcpy(field, value);
	return NULL;
}

const char *config_parse_flag(const char *value, void *field)
{
	bool yes = !strcasecmp(value, "yes") || !strcasecmp(value, "true") ||
		   !strcasecmp(value, "on") || !strcmp(value, "1");
	bool no = !strcasecmp(value, "no") || !strcasecmp(value, "false") ||
		  !strcasecmp(value, "off") || !strcmp(value, "0");

	if (yes == no)
		return "it is neither yes nor no";
	*(bool *)field = yes;
	return NULL;
}

const char *config_parse_share(const char *value, void *field)
{
	struct iotr_share share;
	int r = iotr_parse_share(value, &share);

	if (r < 0)
		return r == -ERANGE ? "it is out of range"
				    : "it is no size (10G), percentage (10%) or infinity";
	*(struct iotr_share *)field = share;
	return NULL;
}

const char *config_parse_free(const char *value, void *field)
{
	struct iotr_share *share = field;

	if (strcmp(value, "0"))
		return strcmp(value, "infinity") ? config_parse_share(value, field)
						 : "then nothing could be written";
	*share = (struct iotr_share){ 0 };
	return NULL;
}

/* The kernel takes no other ring than of a power of two. */
const char *config_parse_ring_size(const char *value, void *field)
{
	uint64_t size;

	if (iotr_parse_size(value, &size) < 0)
		return "it is no size, as 16M";
	if (size < RING_SIZE_MIN || size > RING_SIZE_MAX || size & (size - 1))
		return "it is no power of two from 1M to 1G";
	*(uint64_t *)field = size;
	return NULL;
}

const char *config_parse_queue_size(const char *value, void *field)
{
	uint64_t size;

	if (iotr_parse_size(value, &size) < 0)
		return "it is no size, as 128M";
	if (size < IOTR_QUEUE_SIZE_MIN || size > IOTR_QUEUE_SIZE_MAX)
		return "it is not from 1M to 256M";
	*(uint64_t *)field = size;
	return NULL;
}

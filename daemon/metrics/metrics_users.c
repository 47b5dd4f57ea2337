// SPDX-License-Identifier: GPL-2.0-or-later
#include "metrics/metrics_users.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "cleanup.h"
#include "outside.h"

/* The service has no network: the connections are those of the machine, as process 1 sees them. */
static const char *table(void)
{
	return getenv(OUTSIDE_FOLDER) ? "/proc/1/net/tcp" : "/proc/self/net/tcp";
}

/* A line has the end that is its user's first: "  12: 0100007F:A2C4 0100007F:1F90 01 ... UID". */
static void take_line(const char *line, struct metrics_peer *peers, size_t count)
{
	unsigned int address, port, user;

	if (sscanf(line, " %*u: %8X:%4X %*8X:%*4X %*2X %*X:%*X %*X:%*X %*X %u", &address, &port, &user) != 3)
		return;
	for (size_t i = 0; i < count; i++)
		if (peers[i].from.sin_port == htons((uint16_t)port) && peers[i].from.sin_addr.s_addr == address)
			peers[i].user = user;
}

void metrics_users_find(struct metrics_peer *peers, size_t count)
{
	_cleanup_fclose_ FILE *file = fopen(table(), "re");
	char line[256];

	while (file && ftell(file) < METRICS_TABLE_MAX && fgets(line, sizeof(line), file))
		take_line(line, peers, count);
}

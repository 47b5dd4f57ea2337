// SPDX-License-Identifier: GPL-2.0-or-later
#include "metrics/metrics_listen.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "cleanup.h"
#include "outside.h"

#define SOCKET_NAME "listen" /* that of iotracer-listen.socket */
#define BACKLOG	    16

/* ---- either process ---- */

static int open_socket(const struct sockaddr_in *address)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const int yes = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return take_fd(&fd);
}

/* ---- the daemon ---- */

static int set_patience(int fd)
{
	const struct timeval patience = { .tv_sec = METRICS_LISTEN_S };

	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ? -errno : 0;
}

/* The answer is an errno or, with the socket behind it, 0. */
static int ask(int outside, const struct sockaddr_in *address)
{
	int fd = -1, error = 0;
	int r = set_patience(outside);

	if (r >= 0)
		r = outside_send(outside, address, sizeof(*address), NULL, 0);
	if (r >= 0)
		r = outside_receive(outside, &error, sizeof(error), NULL, 0, NULL);
	if (r >= 0)
		r = error ? -error : outside_receive(outside, &error, sizeof(error), &fd, 1, NULL);
	return r == -EAGAIN ? -ETIMEDOUT : r < 0 ? r : fd;
}

int metrics_listen(const struct sockaddr_in *address)
{
	_cleanup_close_ int outside = outside_connect(SOCKET_NAME);

	return outside < 0 ? open_socket(address) : ask(outside, address);
}

/* ---- the process outside ---- */

static int open_for(const struct sockaddr_in *address)
{
	if (address->sin_family != AF_INET || ntohl(address->sin_addr.s_addr) >> IN_CLASSA_NSHIFT != IN_LOOPBACKNET)
		return -EADDRNOTAVAIL;
	return open_socket(address);
}

int metrics_listen_main(void)
{
	struct sockaddr_in address;
	int r = outside_take_order(&address, sizeof(address), NULL, 0);
	_cleanup_close_ int fd = r < 0 ? r : open_for(&address);
	int error = fd < 0 ? -fd : 0;

	if (r < 0)
		return EXIT_FAILURE;
	r = outside_send(STDIN_FILENO, &error, sizeof(error), NULL, 0);
	if (r >= 0 && fd >= 0)
		r = outside_send(STDIN_FILENO, &error, sizeof(error), &fd, 1);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

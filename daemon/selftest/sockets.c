// SPDX-License-Identifier: GPL-2.0-or-later
/* Sockets over the loopback interface, waits for them, and a segment that has to be sent again. */
#include "selftest/parts.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "selftest/note.h"

#define RETRANSMIT_NS 600000000L /* the first retransmission comes after some 200 ms */

static void conn(enum iotr_conn_operation operation, bool done)
{
	selftest_note(IOTR_CONN, operation, done, true);
}

static void epoll(enum iotr_epoll_operation operation, bool done)
{
	selftest_note(IOTR_EPOLL, operation, done, true);
}

static void waits(int fd)
{
	struct epoll_event event = { .events = EPOLLIN }, ready;
	struct pollfd one = { .fd = fd, .events = POLLIN };
	struct timeval none = { 0 };
	int instance = epoll_create1(EPOLL_CLOEXEC);
	fd_set set;

	epoll(IOTR_EPOLL_EPOLL_CREATE, instance >= 0);
	epoll(IOTR_EPOLL_EPOLL_CTL, epoll_ctl(instance, EPOLL_CTL_ADD, fd, &event) == 0);
	epoll(IOTR_EPOLL_EPOLL_WAIT, epoll_wait(instance, &ready, 1, 0) >= 0);
	epoll(IOTR_EPOLL_POLL, poll(&one, 1, 0) >= 0);
	FD_ZERO(&set);
	FD_SET(fd, &set);
	epoll(IOTR_EPOLL_SELECT, select(fd + 1, &set, NULL, NULL, &none) >= 0);
	close(instance);
}

static void options(int fd)
{
	socklen_t length = sizeof(int);
	int on = 1;

	selftest_note(IOTR_SOCKOPT, IOTR_SOCKOPT_SET,
		      setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, length) == 0, true);
	selftest_note(IOTR_SOCKOPT, IOTR_SOCKOPT_GET,
		      getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &length) == 0, true);
}

/* A filter drops all that the receiver gets, so the sender retransmits. */
static void retransmit(int sender, int receiver)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = { .len = 1, .filter = &nothing };
	struct timespec pause = { .tv_nsec = 20000000L };
	struct tcp_info info = { 0 };
	socklen_t length = sizeof(info);

	if (setsockopt(receiver, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ||
	    send(sender, "x", 1, 0) != 1)
		return;
	for (long waited = 0; waited < RETRANSMIT_NS && !info.tcpi_total_retrans; waited += pause.tv_nsec) {
		nanosleep(&pause, NULL);
		length = sizeof(info);
		if (getsockopt(sender, IPPROTO_TCP, TCP_INFO, &info, &length) < 0)
			return;
	}
	selftest_note(IOTR_DROP, IOTR_DROP_TCP_RETRANSMIT, info.tcpi_total_retrans, true);
}

static void traffic(int client, int server)
{
	char byte;

	selftest_note(IOTR_NET, IOTR_NET_SEND, send(client, "x", 1, 0) == 1, true);
	selftest_note(IOTR_NET, IOTR_NET_RECEIVE, recv(server, &byte, 1, 0) == 1, true);
	waits(server);
	options(server);
	retransmit(client, server);
	conn(IOTR_CONN_SHUTDOWN, shutdown(client, SHUT_RDWR) == 0);
}

void selftest_sockets(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), client, server;

	if (listener < 0)
		selftest_note_itself(SELFTEST_REFUSED);
	conn(IOTR_CONN_SOCKET_CREATE, listener >= 0);
	conn(IOTR_CONN_BIND, bind(listener, (struct sockaddr *)&address, length) == 0);
	conn(IOTR_CONN_LISTEN, listen(listener, 1) == 0);
	if (getsockname(listener, (struct sockaddr *)&address, &length) < 0)
		return;
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client < 0 || connect(client, (struct sockaddr *)&address, length) < 0)
		return;
	conn(IOTR_CONN_CONNECT, true);
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	conn(IOTR_CONN_ACCEPT, server >= 0);
	traffic(client, server);
	conn(IOTR_CONN_CLOSE, close(server) == 0);
}

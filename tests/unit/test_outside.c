// SPDX-License-Identifier: GPL-2.0-or-later
/* Packets to and from processes outside of the service's confinement. */
#include "outside.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "folder.h"
#include "stand_outside.h"
#include "suite.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Neither more descriptors than a packet has room for, nor a packet of another size, is taken. */
START_TEST(refuses_other_packets)
{
	const struct {
		size_t size, fds;
	} packets[] = { { 1, 0 }, { 1, 2 }, { 2, 1 } };
	const int fds[] = { 0, 1 };
	char bytes[2] = { 0 };
	int ends[2], fd = -1, next = dup(0);

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	for (size_t i = 0; i < LENGTH(packets); i++) {
		ck_assert_int_eq(outside_send(ends[0], bytes, packets[i].size, fds, packets[i].fds), 0);
		ck_assert_int_eq(outside_receive(ends[1], bytes, 1, &fd, 1, NULL), -EBADMSG);
	}
	ck_assert_int_eq(outside_send(ends[0], bytes, 1, fds, 1), 0);
	ck_assert_int_eq(outside_receive(ends[1], bytes, 1, &fd, 1, NULL), 0);
	ck_assert_int_eq(fd, next + 3); /* of the others, none is left open */
	close(ends[0]);
	ck_assert_int_eq(outside_receive(ends[1], bytes, 1, NULL, 0, NULL), -ECONNRESET);
	close(ends[1]);
}
END_TEST

START_TEST(connects)
{
	int fd, client, server;
	char byte = 0;
	struct ucred sender;
	struct folder folder;

	ck_assert_int_eq(outside_connect("name"), -ENOENT); /* where there is no folder */
	folder_begin(&folder);
	setenv(OUTSIDE_FOLDER, folder.path, true);
	ck_assert_int_eq(outside_connect("name"), -ENOENT);
	close(stand_at(folder.path, "left"));
	ck_assert_int_eq(outside_connect("left"), -ECONNREFUSED);
	fd = stand_at(folder.path, "name");
	client = outside_connect("name");
	ck_assert_int_ge(client, 0);
	server = accept(fd, NULL, NULL);
	ck_assert_int_eq(outside_send(server, "x", 1, NULL, 0), 0);
	ck_assert_int_eq(outside_receive(client, &byte, 1, NULL, 0, &sender), 0);
	ck_assert_int_eq(byte, 'x');
	ck_assert_int_eq(sender.pid, getpid());
	close(server);
	close(client);
	close(fd);
	folder_end(&folder);
}
END_TEST

/* What it is to do is taken from root and from its own user. */
START_TEST(obeys_the_daemon_alone)
{
	const int expected[] = { 0, -EPERM };
	int ends[2];
	char byte;

	for (size_t i = 0; i < LENGTH(expected); i++) {
		if (i && seteuid(65534) < 0)
			return; /* this user has no other one to ask as */
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
		ck_assert_int_eq(seteuid(getuid()), 0);
		ck_assert_int_eq(dup2(ends[1], STDIN_FILENO), STDIN_FILENO);
		ck_assert_int_eq(outside_send(ends[0], "x", 1, NULL, 0), 0);
		ck_assert_int_eq(outside_take_order(&byte, 1, NULL, 0), expected[i]);
		close(ends[0]);
		close(ends[1]);
	}
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, refuses_other_packets);
	tcase_add_test(tests, connects);
	tcase_add_test(tests, obeys_the_daemon_alone);
}

int main(void)
{
	return run_suite("outside", add);
}

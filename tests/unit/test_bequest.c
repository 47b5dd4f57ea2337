// SPDX-License-Identifier: GPL-2.0-or-later
/* Descriptors that one daemon leaves to the next one: their names, and what is there when something is wrong. */
#include "probes/bequest.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "fd_store.h"
#include "probes/leave_behind.h"
#include "suite.h"

enum { COUNT = 3 * BEQUEST_BATCH / 2 };

static size_t open_count(void)
{
	DIR *folder = opendir("/proc/self/fd");
	size_t count = 0;

	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void fill(struct bequest_parcel *parcel, int *fds)
{
	bequest_begin(parcel, "key", -1);
	for (int i = 0; i < COUNT; i++) {
		char name[BEQUEST_NAME_MAX];

		snprintf(name, sizeof(name), "name %d", i);
		fds[i] = eventfd((unsigned int)i, EFD_CLOEXEC | EFD_NONBLOCK);
		bequest_add(parcel, (uint32_t)i % 2, name, fds[i]);
	}
}

static void close_them(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
}

/* A queue with all of them, of which no other descriptor is left, as when a daemon has ended. */
static int filled_queue(void)
{
	struct bequest_parcel parcel;
	int fds[COUNT], queue;

	fill(&parcel, fds);
	queue = bequest_end(&parcel);
	ck_assert_int_ge(queue, 0);
	close_them(fds, COUNT);
	return queue;
}

static int close_counted(const char *name, int fd)
{
	eventfd_t value = 0;

	ck_assert_int_eq(strncmp(name, "name ", 5), 0);
	eventfd_read(fd, &value);
	return value == 5 ? -EIO : 0;
}

START_TEST(all_arrive_under_their_names)
{
	struct bequest *bequest;
	int queue = filled_queue();

	ck_assert(bequest_waits(queue, "key") && bequest_waits(queue, "key"));
	ck_assert_int_eq(bequest_receive(queue, "key", 0, &bequest), 0);
	ck_assert(!bequest_waits(queue, "key"));
	for (int i = 1; i < COUNT; i++) {
		char name[BEQUEST_NAME_MAX];
		eventfd_t value = 0;
		int fd;

		snprintf(name, sizeof(name), "name %d", i);
		ck_assert_int_eq(bequest_take(bequest, (uint32_t)(i + 1) % 2, name), -1);
		ck_assert_int_ge(bequest_find(bequest, (uint32_t)i % 2, name), 0);
		fd = bequest_take(bequest, (uint32_t)i % 2, name);
		ck_assert_int_eq(eventfd_read(fd, &value), 0);
		ck_assert_uint_eq(value, (unsigned int)i);
		ck_assert_int_eq(bequest_take(bequest, (uint32_t)i % 2, name), -1);
		close(fd);
	}
	bequest_free(bequest);
	ck_assert_int_eq(bequest_receive(queue, "key", 0, &bequest), -ENOENT); /* for one only */
	close(queue);
}
END_TEST

START_TEST(what_is_not_taken_is_closed)
{
	struct bequest *bequest;
	size_t before = open_count(), count;
	int queue = filled_queue(), *all;

	ck_assert_int_eq(bequest_receive(queue, "key", 0, &bequest), 0);
	ck_assert_uint_eq(open_count(), before + COUNT + 1);
	ck_assert_int_eq(bequest_each(bequest, 1, close_counted), -EIO);
	ck_assert_int_eq(bequest_each(bequest, 0, close_counted), 0);
	close(bequest_take(bequest, 0, "name 0"));
	all = bequest_take_all(bequest, &count);
	ck_assert_uint_eq(count, COUNT - 1);
	close_them(all, count);
	free(all);
	bequest_free(bequest);
	close(queue);
	ck_assert_uint_eq(open_count(), before);
}
END_TEST

START_TEST(another_key_gets_nothing)
{
	struct bequest *bequest = NULL;
	size_t before = open_count();
	int queue = filled_queue(), closed = eventfd(0, EFD_CLOEXEC);

	close(closed);
	ck_assert(!bequest_waits(queue, "another"));
	ck_assert_int_eq(bequest_receive(queue, "another", 0, &bequest), -ESTALE);
	ck_assert_int_eq(bequest_receive(queue, "key", 0, &bequest), -ENOENT);
	ck_assert_int_eq(bequest_receive(closed, "key", 0, &bequest), -EBADF);
	ck_assert_ptr_null(bequest);
	close(queue);
	ck_assert_uint_eq(open_count(), before);
}
END_TEST

/* Its sender was killed meanwhile. */
START_TEST(a_part_is_nothing)
{
	struct bequest_parcel parcel;
	struct bequest *bequest = NULL;
	size_t before = open_count();
	int fds[COUNT];

	fill(&parcel, fds);
	close_them(fds, COUNT);
	close(parcel.sockets[0]);
	ck_assert_int_eq(bequest_receive(parcel.sockets[1], "key", 0, &bequest), -EBADMSG);
	ck_assert_ptr_null(bequest);
	close(parcel.sockets[1]);
	ck_assert_uint_eq(open_count(), before);
}
END_TEST

/* A socket whose end of file is read for ever is no queue of messages. */
START_TEST(what_never_ends_is_refused)
{
	static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET };
	struct bequest *bequest = NULL;
	size_t before = open_count();

	for (size_t i = 0; i < 2; i++) {
		int sockets[2];

		ck_assert_int_eq(socketpair(AF_UNIX, types[i], 0, sockets), 0);
		close(sockets[0]);
		ck_assert(!bequest_waits(sockets[1], "key"));
		ck_assert_int_eq(bequest_receive(sockets[1], "key", 0, &bequest), -EBADMSG);
		ck_assert_int_lt(leave_behind_claim(sockets[1], NULL, NULL), 0);
		close(sockets[1]);
	}
	ck_assert_ptr_null(bequest);
	ck_assert_uint_eq(open_count(), before);
}
END_TEST

START_TEST(long_names_are_refused)
{
	struct bequest_parcel parcel;
	char name[BEQUEST_NAME_MAX + 1] = "";

	memset(name, 'n', sizeof(name) - 1);
	bequest_begin(&parcel, "key", -1);
	bequest_add(&parcel, 0, name, 0);
	ck_assert_int_eq(bequest_end(&parcel), -ENAMETOOLONG);
}
END_TEST

/* ---- with a service manager ---- */

static int manager_open(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "iotracer-test-%d", (int)getpid());
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path) + 1 +
								       strlen(address.sun_path + 1)), 0);
	address.sun_path[0] = '@';
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	return fd;
}

/* The descriptor that comes with the message, which must be that one; -1: none. */
static int manager_receive(int manager, const char *expected)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char text[256] = "";
	struct iovec data = { text, sizeof(text) - 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int fd = -1;

	ck_assert_int_ge(recvmsg(manager, &message, MSG_CMSG_CLOEXEC), 0);
	ck_assert_str_eq(text, expected);
	for (struct cmsghdr *one = CMSG_FIRSTHDR(&message); one; one = CMSG_NXTHDR(&message, one))
		if (one->cmsg_type == SCM_RIGHTS)
			memcpy(&fd, CMSG_DATA(one), sizeof(fd));
	return fd;
}

static bool same(int a, int b)
{
	struct stat of_a, of_b;

	return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

START_TEST(left_hooks_can_be_claimed_once)
{
	int manager = manager_open(), pipes[2], socket, *claimed;
	size_t count;

	ck_assert_int_eq(pipe(pipes), 0);
	leave_behind(pipes, 2);
	manager_receive(manager, "FDSTOREREMOVE=1\nFDNAME=iotracer-hooks");
	socket = manager_receive(manager, "FDSTORE=1\nFDPOLL=0\nFDNAME=iotracer-hooks");
	ck_assert_int_ge(socket, 0);
	ck_assert_int_eq(leave_behind_claim(socket, &claimed, &count), 0);
	ck_assert_uint_eq(count, 2);
	ck_assert(same(claimed[0], pipes[0]) && same(claimed[1], pipes[1]));
	close_them(claimed, count);
	free(claimed);
	ck_assert_int_lt(leave_behind_claim(socket, &claimed, &count), 0);
	close(socket);
	close(manager);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, all_arrive_under_their_names);
	tcase_add_test(tests, what_is_not_taken_is_closed);
	tcase_add_test(tests, another_key_gets_nothing);
	tcase_add_test(tests, a_part_is_nothing);
	tcase_add_test(tests, what_never_ends_is_refused);
	tcase_add_test(tests, long_names_are_refused);
	tcase_add_test(tests, left_hooks_can_be_claimed_once);
}

int main(void)
{
	return run_suite("bequest", add);
}

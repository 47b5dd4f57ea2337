// SPDX-License-Identifier: GPL-2.0-or-later
#include "control/server.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cleanup.h"
#include "control/listener.h"
#include "protocol.h"
#include "rig.h"
#include "suite.h"

enum { NOBODY = 65534 };

static struct rig rig;
static char folder[64], path[128];

static void set_up(void)
{
	int fd = -1;

	strcpy(folder, "/tmp/iotracer-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	chmod(folder, 0755);
	snprintf(path, sizeof(path), "%s/io.iotracer", folder);
	rig_init(&rig);
	ck_assert_int_eq(listener_open(path, rig.control.group, &fd), 0);
	ck_assert_int_eq(server_listen(rig.server, fd), 0);
}

static void tear_down(void)
{
	rig_done(&rig);
	unlink(path);
	rmdir(folder);
}

static int dial(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;

	ck_assert_int_eq(iotr_socket_address(path, &address), 0);
	return connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : fd;
}

#define GET_INFO "{\"method\":\"org.varlink.service.GetInfo\"}"

START_TEST(accepts)
{
	_cleanup_close_ int fd = dial();
	_cleanup_json_ struct json_object *reply = rig_call(&rig, fd, GET_INFO);

	ck_assert_str_eq(rig_error(reply), "");
}
END_TEST

#define TAIL "{\"method\":\"io.iotracer.Tail\",\"parameters\":{\"name\":\"one\"},\"more\":true}"

static int dial_as(uid_t uid)
{
	int fd;

	ck_assert_int_eq(setegid(4242), 0);
	ck_assert_int_eq(seteuid(uid), 0);
	fd = dial();
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(setegid(0), 0);
	rig_settle(&rig);
	return fd;
}

static bool is_open(int fd)
{
	char byte;

	rig_settle(&rig);
	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static void expect_served(int fd)
{
	_cleanup_json_ struct json_object *reply = rig_call(&rig, fd, GET_INFO);

	ck_assert_str_eq(rig_error(reply), "");
	close(fd);
	rig_settle(&rig);
}

static void expect_refused(int fd)
{
	_cleanup_json_ struct json_object *refusal = rig_receive(&rig, fd);

	ck_assert_str_eq(rig_error(refusal), IOTR_TOO_MANY_CONNECTIONS);
	ck_assert(rig_closed(&rig, fd));
	close(fd);
}

/* Begins a call that is never answered. */
static int busy_as(uid_t uid)
{
	int fd = dial_as(uid);

	ck_assert_int_eq(send(fd, TAIL, sizeof(TAIL), MSG_NOSIGNAL), sizeof(TAIL));
	rig_settle(&rig);
	return fd;
}

static bool can_be_others(void)
{
	rig.control.group = 4242;
	chmod(path, 0666);
	return getuid() == 0;
}

/* Idle connections of one user have a limit, at which the oldest is closed; root and other users can still connect. */
START_TEST(idle_ones_go)
{
	int fds[SERVER_CLIENTS_MAX], first = SERVER_CLIENTS_MAX - SERVER_CLIENTS_USER;

	if (!can_be_others())
		return;
	for (int i = 0; i < SERVER_CLIENTS_MAX; i++)
		fds[i] = dial_as(NOBODY);
	for (int i = 0; i < SERVER_CLIENTS_MAX; i++)
		ck_assert_msg(is_open(fds[i]) == (i >= first), "connection %d", i);
	expect_served(dial_as(NOBODY - 1));
	expect_served(dial_as(0));
	for (int i = 0; i < SERVER_CLIENTS_MAX; i++)
		close(fds[i]);
}
END_TEST

/* Connections with a call in progress are not closed: further ones are refused, and some are reserved for root. */
START_TEST(busy_ones_stay)
{
	int fds[SERVER_CLIENTS_MAX], idle, count = 0;

	if (!can_be_others())
		return;
	rig_start(&rig, "one", "");
	for (; count < SERVER_CLIENTS_USER; count++)
		fds[count] = busy_as(NOBODY);
	expect_refused(dial_as(NOBODY));
	for (; count < SERVER_CLIENTS_MAX - SERVER_CLIENTS_ROOT; count++)
		fds[count] = busy_as(NOBODY - 1 - (uid_t)count / SERVER_CLIENTS_USER);
	expect_refused(dial_as(1000));
	idle = dial_as(0);
	expect_refused(dial_as(1000));
	ck_assert(is_open(idle)); /* a connection of root is not closed for one of a member */
	fds[count++] = idle;
	for (; count < SERVER_CLIENTS_MAX; count++)
		fds[count] = busy_as(0);
	expect_served(dial_as(0)); /* the idle one was closed */
	ck_assert(!is_open(idle));
	fds[count - SERVER_CLIENTS_ROOT] = busy_as(0);
	close(idle);
	expect_refused(dial_as(0));
	for (int i = 0; i < count; i++)
		close(fds[i]);
}
END_TEST

/* What happens to a connection of a user in these groups: 0 served, 1 refused, 2 anything else. */
static int ask_as(gid_t primary, gid_t supplementary)
{
	struct sockaddr_un address;
	char reply[256] = "";
	int fd;

	if (setgroups(1, &supplementary) < 0 || setgid(primary) < 0 || setuid(NOBODY) < 0)
		return 2;
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	iotr_socket_address(path, &address);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return 2;
	send(fd, GET_INFO, sizeof(GET_INFO), MSG_NOSIGNAL);
	if (recv(fd, reply, sizeof(reply) - 1, 0) <= 0)
		return 2;
	return strstr(reply, IOTR_PERMISSION_DENIED) ? 1 : 0;
}

static int ask_in_child(gid_t primary, gid_t supplementary)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(ask_as(primary, supplementary));
	while (!waitpid(child, &status, WNOHANG))
		sd_event_run(rig.control.event, 10000);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(knows_who_may)
{
	if (getuid() != 0)
		return; /* only root can become another user */
	rig.control.group = 4242;
	chmod(path, 0666); /* so that the server decides, not the file mode */
	ck_assert_int_eq(ask_in_child(4242, NOBODY), 0);
	ck_assert_int_eq(ask_in_child(NOBODY, 4242), 0);
	ck_assert_int_eq(ask_in_child(NOBODY, NOBODY), 1);
	rig.control.group = GROUP_NONE;
	ck_assert_int_eq(ask_in_child(4242, NOBODY), 1);
}
END_TEST

START_TEST(closes_the_door)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0660);
	ck_assert_uint_eq(st.st_gid, rig.control.group);
}
END_TEST

START_TEST(replaces_a_stale_socket)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	ck_assert(listener_is_served(path));
	rig_end_server(&rig);
	ck_assert(!listener_is_served(path));
	ck_assert_int_eq(listener_open(path, GROUP_NONE, &fd), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
}
END_TEST

START_TEST(replaces_nothing_else)
{
	_cleanup_close_ int file = -1, fd = -1;

	unlink(path);
	file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_eq(listener_open(path, GROUP_NONE, &fd), -ENOTSOCK);
	ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, accepts);
	tcase_add_test(tests, idle_ones_go);
	tcase_add_test(tests, busy_ones_stay);
	tcase_add_test(tests, knows_who_may);
	tcase_add_test(tests, closes_the_door);
	tcase_add_test(tests, replaces_a_stale_socket);
	tcase_add_test(tests, replaces_nothing_else);
}

int main(void)
{
	return run_suite("server", add);
}

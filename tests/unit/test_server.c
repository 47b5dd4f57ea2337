// SPDX-License-Identifier: GPL-2.0-or-later
#include "control/server.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cleanup.h"
#include "control/interface.h"
#include "control/interfaces.h"
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
	ck_assert_int_eq(listener_open(path, rig.control.groups[ROLE_CONTROL], &fd), 0);
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

static int dial_with(uid_t uid, gid_t gid)
{
	int fd;

	ck_assert_int_eq(setegid(gid), 0);
	ck_assert_int_eq(seteuid(uid), 0);
	fd = dial();
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(setegid(0), 0);
	rig_settle(&rig);
	return fd;
}

static int dial_as(uid_t uid)
{
	return dial_with(uid, 4242);
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
	rig.control.groups[ROLE_CONTROL] = 4242;
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

enum answer { SERVED, REFUSED, NOT_CONNECTED, ODD };

static enum answer ask(const char *text)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un address;
	char reply[4096] = "";

	iotr_socket_address(path, &address);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return errno == EACCES ? NOT_CONNECTED : ODD;
	send(fd, text, strlen(text) + 1, MSG_NOSIGNAL);
	if (recv(fd, reply, sizeof(reply) - 1, 0) <= 0)
		return ODD;
	close(fd);
	return strstr(reply, IOTR_PERMISSION_DENIED) ? REFUSED : SERVED;
}

static bool become(gid_t primary, gid_t supplementary)
{
	return setgroups(1, &supplementary) == 0 && setgid(primary) == 0 && setuid(NOBODY) == 0;
}

/* What happens to a connection of a user in these groups. */
static int ask_in_child(gid_t primary, gid_t supplementary)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(become(primary, supplementary) ? ask(GET_INFO) : ODD);
	while (!waitpid(child, &status, WNOHANG))
		sd_event_run(rig.control.event, 10000);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(knows_who_may)
{
	if (getuid() != 0)
		return; /* only root can become another user */
	rig.control.groups[ROLE_CONTROL] = 4242;
	chmod(path, 0666); /* so that the server decides, not the file mode */
	ck_assert_int_eq(ask_in_child(4242, NOBODY), SERVED);
	ck_assert_int_eq(ask_in_child(NOBODY, 4242), SERVED);
	ck_assert_int_eq(ask_in_child(4343, NOBODY), REFUSED);
	rig.control.groups[ROLE_READ] = 4343;
	ck_assert_int_eq(ask_in_child(4343, NOBODY), SERVED);
	ck_assert_int_eq(ask_in_child(NOBODY, 4343), SERVED);
	ck_assert_int_eq(ask_in_child(NOBODY, NOBODY), REFUSED);
	rig.control.groups[ROLE_CONTROL] = GROUP_NONE;
	ck_assert_int_eq(ask_in_child(4242, NOBODY), REFUSED);
	ck_assert_int_eq(ask_in_child(4242, 4343), SERVED);
	rig.control.groups[ROLE_READ] = GROUP_NONE;
	ck_assert_int_eq(ask_in_child(GROUP_NONE - 1, NOBODY), REFUSED);
}
END_TEST

/* Both groups get through the file's mode, and the kernel itself keeps out who is in neither. */
START_TEST(admits_readers)
{
	_cleanup_close_ int pair = -1, fd = -1;
	struct stat st;

	if (getuid() != 0)
		return;
	rig_end_server(&rig);
	rig.control.groups[ROLE_CONTROL] = 4242;
	rig.control.groups[ROLE_READ] = 4343;
	ck_assert_int_eq(server_new(&rig.control, &rig.server), 0);
	ck_assert_int_eq(listener_open(path, 4242, &fd), 0);
	ck_assert_int_eq(listener_admit(fd, GROUP_NONE), 0);
	ck_assert_int_eq(server_listen(rig.server, fd), 0);
	ck_assert_int_eq(ask_in_child(4343, NOBODY), NOT_CONNECTED);
	ck_assert_int_eq(listener_admit(fd, 4343), 0);
	take_fd(&fd);
	ck_assert_int_eq(ask_in_child(4343, NOBODY), SERVED);
	ck_assert_int_eq(ask_in_child(NOBODY, 4343), SERVED);
	ck_assert_int_eq(ask_in_child(4242, NOBODY), SERVED);
	ck_assert_int_eq(ask_in_child(NOBODY, NOBODY), NOT_CONNECTED);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0660);
	pair = rig_connect(&rig);
	ck_assert_int_eq(listener_admit(pair, 4343), 0); /* it has no file */
}
END_TEST

/* Each method as a reader: those that need more are refused before they do anything, with what is missing. */
START_TEST(serves_roles)
{
	int fds[2];
	size_t refused = 0;

	rig.control.groups[ROLE_CONTROL] = GROUP_NONE;
	rig.control.groups[ROLE_READ] = 4343;
	if (getuid() != 0)
		return;
	chmod(path, 0666);
	rig_start(&rig, "one", "");
	fds[0] = dial_with(NOBODY, 4343);
	fds[1] = dial_with(0, 0);
	for (size_t i = 0; interfaces[i]; i++)
		for (size_t j = 0; j < interfaces[i]->method_count; j++) {
			const struct method *method = &interfaces[i]->methods[j];
			_cleanup_json_ struct json_object *reply = NULL;
			char text[128];

			ck_assert_int_gt(method->needs, ROLE_NONE);
			snprintf(text, sizeof(text), "{\"method\":\"%s.%s\"}", interfaces[i]->name, method->name);
			reply = rig_call(&rig, fds[0], text);
			if (method->needs == ROLE_READ) {
				ck_assert_str_ne(rig_error(reply), IOTR_PERMISSION_DENIED);
				continue;
			}
			refused++;
			ck_assert_str_eq(rig_error(reply), IOTR_PERMISSION_DENIED);
			ck_assert_str_eq(rig_parameter(reply, "role"), "control");
			ck_assert_str_eq(rig_parameter(reply, "group"), IOTR_GROUP);
		}
	ck_assert_uint_ge(refused, 10);
	ck_assert_uint_eq(rig_count_sessions(&rig), 1);
	expect_served(fds[1]);
	close(fds[0]);
}
END_TEST

enum { DESCRIPTORS_MAX = 256 };

/* Where there are no descriptors left, there is still one for a client, and for the next one after him. */
START_TEST(serves_without_descriptors)
{
	const struct rlimit few = { DESCRIPTORS_MAX, DESCRIPTORS_MAX };
	int first = dial(), second = dial(), taken[DESCRIPTORS_MAX], count = 0;

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	while ((taken[count] = dup(STDERR_FILENO)) >= 0)
		count++;
	ck_assert_int_eq(errno, EMFILE);
	expect_served(first);
	expect_served(second);
	while (count)
		close(taken[--count]);
}
END_TEST

START_TEST(closes_the_door)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0660);
	ck_assert_uint_eq(st.st_gid, rig.control.groups[ROLE_CONTROL]);
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
	tcase_add_test(tests, admits_readers);
	tcase_add_test(tests, serves_roles);
	tcase_add_test(tests, serves_without_descriptors);
	tcase_add_test(tests, closes_the_door);
	tcase_add_test(tests, replaces_a_stale_socket);
	tcase_add_test(tests, replaces_nothing_else);
}

int main(void)
{
	return run_suite("server", add);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "control/connection.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "cleanup.h"
#include "protocol.h"
#include "suite.h"

static sd_event *event;
static struct connection *connection; /* NULL after the disconnection */
static int peer;
static char received[256]; /* the messages received, each with a space behind it */
static bool slow; /* messages are not answered at once */
static bool busy, refusing;
static int ends; /* how often it was told that the peer sends no more */

static void on_message(struct connection *from, const char *text, size_t length, void *userdata)
{
	ck_assert_ptr_eq(from, connection);
	ck_assert_ptr_eq(userdata, &received);
	ck_assert_uint_eq(strlen(text), length);
	ck_assert_uint_lt(strlen(received) + length + 1, sizeof(received));
	strcat(strcat(received, text), " ");
	busy = slow;
	if (refusing)
		connection_refuse(from, "why");
}

static bool is_busy(void *userdata)
{
	(void)userdata;
	return busy;
}

static void on_end(void *userdata)
{
	(void)userdata;
	ends++;
}

static void on_gone(void *userdata)
{
	(void)userdata;
	connection_free(TAKE(connection));
}

static void set_up(void)
{
	static const struct connection_handler handler = { on_message, is_busy, on_end, on_gone };
	const struct rights caller = { .uid = 77 };
	struct connection_config config = { .caller = &caller, .handler = &handler, .userdata = &received };
	int fds[2];

	ck_assert_int_ge(sd_event_new(&event), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
	ck_assert_int_eq(setsockopt(fds[1], SOL_SOCKET, SO_SNDBUF, &(int){ 65536 }, sizeof(int)), 0);
	config.event = event;
	ck_assert_int_eq(connection_new(fds[1], &config, &connection), 0);
	peer = fds[0];
	slow = busy = refusing = false;
	*received = '\0';
	ends = 0;
}

static void tear_down(void)
{
	connection_free(connection);
	sd_event_unref(event);
	close(peer);
}

/* Runs the loop until it is idle: bytes that are sent to a local socket are there at once. */
static void settle(void)
{
	while (sd_event_run(event, 0) > 0)
		;
}

static void say(const char *bytes, size_t length)
{
	ck_assert_int_eq(send(peer, bytes, length, MSG_NOSIGNAL), (ssize_t)length);
	settle();
}

START_TEST(hands_over_in_order)
{
	say("one\0two\0th", 10);
	ck_assert_str_eq(received, "one two ");
	say("ree", 4);
	ck_assert_str_eq(received, "one two three ");
	ck_assert_uint_eq(connection_caller(connection)->uid, 77);
}
END_TEST

START_TEST(waits_while_busy)
{
	slow = true;
	say("one\0two", 8);
	ck_assert_str_eq(received, "one ");
	ck_assert_uint_eq(connection_idle_since(connection), UINT64_MAX);
	connection_wake(connection);
	settle();
	ck_assert_str_eq(received, "one ");
	slow = busy = false;
	connection_wake(connection);
	settle();
	ck_assert_str_eq(received, "one two ");
	ck_assert_uint_ne(connection_idle_since(connection), UINT64_MAX);
}
END_TEST

/* A peer that sends no more still gets the answer. */
START_TEST(ends_when_nothing_is_left)
{
	_cleanup_json_ struct json_object *answer = json_tokener_parse("{\"a\":1}");
	char bytes[32] = "";

	slow = true;
	say("one", 4);
	shutdown(peer, SHUT_WR);
	settle();
	ck_assert_ptr_nonnull(connection);
	ck_assert_int_eq(ends, 1);
	busy = false;
	connection_send(connection, answer);
	settle();
	ck_assert_ptr_null(connection);
	ck_assert_int_gt(recv(peer, bytes, sizeof(bytes) - 1, 0), 0);
	ck_assert_str_eq(bytes, "{\"a\":1}");
}
END_TEST

START_TEST(ends_after_a_refusal)
{
	char bytes[256] = "";

	refusing = true;
	say("one\0two", 8);
	ck_assert_str_eq(received, "one ");
	ck_assert_ptr_null(connection);
	ck_assert_int_gt(recv(peer, bytes, sizeof(bytes) - 1, 0), 0);
	ck_assert_ptr_nonnull(strstr(bytes, IOTR_PROTOCOL_ERROR));
	ck_assert_ptr_nonnull(strstr(bytes, "\"why\""));
}
END_TEST

/* What is queued holds up further messages until the peer has read it; the rest of a reply is never cut off. */
START_TEST(waits_for_a_slow_reader)
{
	_cleanup_json_ struct json_object *answer = json_object_new_object();
	_cleanup_free_ char *text = malloc(65536);
	size_t sent = 0, got = 0;
	ssize_t n;

	memset(text, 'x', 65536);
	json_object_object_add(answer, "text", json_object_new_string_len(text, 65535));
	for (; sent < 2 * CONNECTION_OUTPUT_BEHIND / 65536; sent++) /* more than the socket takes at once */
		connection_send(connection, answer);
	settle();
	ck_assert(connection_behind(connection));
	say("one", 4);
	ck_assert_str_eq(received, "");
	for (; (n = recv(peer, text, 65536, 0)) > 0; settle())
		for (ssize_t i = 0; i < n; i++)
			got += !text[i];
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_uint_eq(got, sent);
	ck_assert_str_eq(received, "one ");
}
END_TEST

/* More than the limit is not queued: the peer is disconnected. */
START_TEST(drops_who_never_reads)
{
	_cleanup_json_ struct json_object *answer = json_object_new_object();
	_cleanup_free_ char *text = malloc(65536);

	memset(text, 'x', 65536);
	json_object_object_add(answer, "text", json_object_new_string_len(text, 65535));
	for (size_t i = 0; i <= CONNECTION_OUTPUT_MAX / 65535; i++)
		connection_send(connection, answer);
	settle();
	ck_assert_ptr_null(connection);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, hands_over_in_order);
	tcase_add_test(tests, waits_while_busy);
	tcase_add_test(tests, ends_when_nothing_is_left);
	tcase_add_test(tests, ends_after_a_refusal);
	tcase_add_test(tests, waits_for_a_slow_reader);
	tcase_add_test(tests, drops_who_never_reads);
}

int main(void)
{
	return run_suite("connection", add);
}

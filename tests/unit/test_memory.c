// SPDX-License-Identifier: GPL-2.0-or-later
/* Each allocation of a request fails once: the daemon answers, or hangs up, and its sessions go on. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cleanup.h"
#include "json_memory.h"
#include "metrics/metrics_text.h"
#include "pipeline/clocks.h"
#include "protocol.h"
#include "rig.h"
#include "suite.h"

/* ---- the allocator ---- */

static _Thread_local unsigned int left; /* allocations of this thread until one fails; 0: none does */

#if defined(__SANITIZE_ADDRESS__)
static const bool fails = false; /* the sanitizer has an allocator of its own */
#else
static const bool fails = true;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static bool is_to_fail(void)
{
	if (!left || --left)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return is_to_fail() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return is_to_fail() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	return is_to_fail() ? NULL : __libc_realloc(memory, size);
}
#endif

/* ---- requests ---- */

static struct rig rig;
static char reply[1 << 20];

/* Turns the loop until a reply has come or the other end hung up, with that allocation failing. Returns whether it came to it. */
static bool ask_failing(const char *request, unsigned int number)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	uint64_t until = clocks_mono_ns() + 10000000000ULL;
	size_t length = 0;
	ssize_t n = -1;
	bool reached;

	ck_assert_int_eq(send(fd, request, strlen(request) + 1, MSG_NOSIGNAL), (ssize_t)strlen(request) + 1);
	left = number;
	while (n < 0 || (n > 0 && reply[length - 1])) {
		unsigned int now;

		sd_event_run(rig.control.event, 10000);
		now = left;
		left = 0;
		n = recv(fd, reply + length, sizeof(reply) - 1 - length, MSG_DONTWAIT);
		ck_assert(n >= 0 || errno == EAGAIN);
		ck_assert_msg(clocks_mono_ns() < until, "%s: no answer when allocation %u failed", request, number);
		length += n > 0 ? (size_t)n : 0;
		left = now;
	}
	reached = !left;
	left = 0;
	reply[length] = '\0';
	return reached;
}

static bool is_running(const char *name)
{
	_cleanup_json_ struct json_object *status = rig_status(&rig, name);

	return !strcmp(rig_text_at(status, "/state"), "running");
}

/* A reply is whole, or says that there is no memory. */
static void judge(const char *request, unsigned int number, const char *whole)
{
	_cleanup_json_ struct json_object *message = NULL;
	const char *why = "";

	if (!reply[0])
		return; /* it hung up */
	ck_assert_msg(iotr_message_parse(reply, strlen(reply), &message, &why) == 0, "%s, %u: %s: %s", request, number, why, reply);
	if (rig_error(message)[0])
		ck_assert_msg(strstr(reply, "memory") != NULL, "%.60s, %u: %.900s", request, number, reply);
	else
		ck_assert_msg(!whole || strstr(reply, whole) != NULL, "%.60s, %u: %.900s", request, number, reply);
}

#define CALL(method, parameters) "{\"method\":\"io.iotracer." method "\",\"parameters\":" parameters "}"

static const struct request {
	const char *text, *whole, *undo;
} requests[] = {
	{ CALL("List", "{}"), "\"name\":\"on\"", NULL },
	{ CALL("Status", "{}"), "\"uptime\"", NULL },
	{ CALL("Status", "{\"name\":\"on\"}"), "\"written\"", NULL },
	{ CALL("Streams", "{}"), "\"streams\"", NULL },
	{ CALL("Set", "{\"name\":\"on\",\"uids\":[1,2,3],\"clear\":[\"pids\"]}"), "\"session\"", NULL },
	{ CALL("Set", "{\"name\":\"nobody\",\"uids\":[1]}"), NULL, NULL },
	{ CALL("Rotate", "{\"name\":\"on\"}"), "\"closed\"", NULL },
	{ CALL("Rotate", "{}"), "\"closed\"", NULL },
	{ CALL("Stop", "{\"name\":\"nobody\"}"), NULL, NULL },
	{ CALL("Nothing", "{}"), NULL, NULL },
	{ CALL("Start", "{\"streams\":[\"vfs\"],\"name\":\"new\",\"commands\":[\"a\"]}"), "\"session\"",
	  CALL("Stop", "{\"name\":\"new\"}") },
	{ CALL("Start", "{\"streams\":[\"vfs\"],\"name\":\"on\"}"), NULL, NULL },
	{ "{\"method\":\"org.varlink.service.GetInfo\"}", "\"vendor\"", NULL },
};

static void undo(const char *text)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *message = rig_call(&rig, fd, text);

	rig_await_sessions(&rig, 1);
}

/* The first ones are a request's way through the daemon; many more make the parts of a long answer, one like the other. */
static unsigned int step(unsigned int number)
{
	return number < 300 ? 1 : 31;
}

START_TEST(requests_fail)
{
	const struct request *request = &requests[_i];
	unsigned int number = 1;

	if (!fails)
		return;
	rig_init(&rig);
	rig_start(&rig, "on", "");
	for (bool reached = true; reached && number < 20000; number += step(number)) {
		reached = ask_failing(request->text, number);
		if (strcmp(request->text, requests[9].text) && (reached || request->whole) && strstr(reply, "NoSuchSession") == NULL &&
		    strstr(reply, "SessionExists") == NULL)
			judge(request->text, number, request->whole);
		if (request->undo)
			undo(request->undo);
		ck_assert(is_running("on"));
	}
	ck_assert_uint_gt(number, 3);
	rig_stop(&rig, "on");
	rig_done(&rig);
}
END_TEST

START_TEST(metrics_fail)
{
	size_t length;

	if (!fails)
		return;
	rig_init(&rig);
	rig_start(&rig, "on", "");
	unsigned int number = 1;

	for (bool reached = true; reached; number += step(number)) {
		char *text;

		left = number;
		text = metrics_text(rig.engine, &length);
		reached = !left;
		left = 0;
		ck_assert(!text || strstr(text, "iotracer_session_rows_total{session=\"on\"}"));
		free(text);
		if (number > 20000)
			break;
	}
	rig_done(&rig);
}
END_TEST

/* What cannot be made is missing, what is missing takes anything, and it is told once. */
START_TEST(json_that_lacks)
{
	_cleanup_json_ struct json_object *one = json_object_new_int(1);

	json_lacks();
	ck_assert_int_lt(json_object_object_add(NULL, "key", one), 0);
	ck_assert(json_lacks() && !json_lacks());
	ck_assert_int_lt(json_object_array_add(NULL, one), 0);
	ck_assert(json_lacks());
	ck_assert_uint_eq(json_object_array_length(NULL), 0);
	ck_assert_ptr_null(json_object_array_get_idx(NULL, 0));
	json_object_object_del(NULL, "key");
	json_object_object_foreach(NULL, key, value)
		ck_abort_msg("%s: %p", key, (void *)value);
	ck_assert(!json_lacks());
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, requests_fail, 0, sizeof(requests) / sizeof(requests[0]));
	tcase_add_test(tests, metrics_fail);
	tcase_add_test(tests, json_that_lacks);
}

int main(void)
{
	return run_suite("memory", add);
}

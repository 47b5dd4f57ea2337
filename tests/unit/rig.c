// SPDX-License-Identifier: GPL-2.0-or-later
#include "rig.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cleanup.h"
#include "control/interfaces.h"
#include "protocol.h"

void rig_init(struct rig *rig)
{
	const struct engine_config config = { .log_dir = rig->log_dir, .state_dir = rig->state_dir, .level = "auto",
					      .country = "" };
	struct engine_error error = { 0 };
	struct folder folder;

	fake_probes_reset();
	folder_begin(&folder);
	*rig = (struct rig){ .folder = folder };
	snprintf(rig->log_dir, sizeof(rig->log_dir), "%s/log", rig->folder.path);
	snprintf(rig->state_dir, sizeof(rig->state_dir), "%s/state", rig->folder.path);
	ck_assert_int_eq(mkdir(rig->state_dir, 0700), 0);
	ck_assert_int_ge(sd_event_new(&rig->control.event), 0);
	ck_assert_int_eq(engine_new(&config, rig->control.event, &rig->engine, &error), 0);
	rig->control.engine = rig->engine;
	rig->control.interfaces = interfaces;
	rig->control.groups[ROLE_READ] = GROUP_NONE;
	rig->control.groups[ROLE_CONTROL] = getgid(); /* so that this process may, whoever runs it */
	ck_assert_int_eq(server_new(&rig->control, &rig->server), 0);
}

void rig_done(struct rig *rig)
{
	fake_disk_let_go();
	server_free(rig->server);
	ck_assert(engine_free(rig->engine));
	folder_end(&rig->folder);
	sd_event_unref(rig->control.event);
}

void rig_end_server(struct rig *rig)
{
	server_free(rig->server);
	rig->server = NULL;
}

int rig_connect(struct rig *rig)
{
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
			 0);
	server_adopt(rig->server, fds[1]);
	return fds[0];
}

void rig_settle(struct rig *rig)
{
	while (sd_event_run(rig->control.event, 10000) > 0)
		;
}

static void turn(struct rig *rig, unsigned *spent)
{
	sd_event_run(rig->control.event, 10000);
	*spent += 10000;
	ck_assert_msg(*spent < RIG_TIMEOUT_USEC, "the server does not move");
}

bool rig_send(struct rig *rig, int fd, const void *bytes, size_t length)
{
	const char *at = bytes;
	unsigned spent = 0;

	while (length) {
		ssize_t n = send(fd, at, length, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			return false;
		if (n < 0) {
			turn(rig, &spent);
			continue;
		}
		at += n;
		length -= (size_t)n;
	}
	return true;
}

/* Byte by byte, so that what follows the message stays in the socket. */
static bool receive_byte(struct rig *rig, int fd, char *byte)
{
	unsigned spent = 0;
	ssize_t n;

	while ((n = recv(fd, byte, 1, 0)) < 0 && errno == EAGAIN)
		turn(rig, &spent);
	return n == 1;
}

struct json_object *rig_receive(struct rig *rig, int fd)
{
	_cleanup_(iotr_buffer_done) struct iotr_buffer buffer = { 0 };
	struct json_object *message = NULL;
	const char *why;
	char byte = 'x';

	while (byte) {
		if (!receive_byte(rig, fd, &byte))
			return NULL;
		ck_assert_int_eq(iotr_buffer_append(&buffer, &byte, 1), 0);
	}
	ck_assert_int_eq(iotr_message_parse(buffer.data, buffer.length - 1, &message, &why), 0);
	return message;
}

struct json_object *rig_call(struct rig *rig, int fd, const char *text)
{
	rig_send(rig, fd, text, strlen(text) + 1);
	return rig_receive(rig, fd);
}

bool rig_closed(struct rig *rig, int fd)
{
	_cleanup_json_ struct json_object *message = rig_receive(rig, fd);

	return !message;
}

const char *rig_error(struct json_object *reply)
{
	struct json_object *error = NULL;

	ck_assert_ptr_nonnull(reply);
	json_object_object_get_ex(reply, "error", &error);
	return error ? json_object_get_string(error) : "";
}

const char *rig_parameter(struct json_object *reply, const char *name)
{
	struct json_object *parameters = NULL, *value = NULL;

	ck_assert_ptr_nonnull(reply);
	json_object_object_get_ex(reply, "parameters", &parameters);
	json_object_object_get_ex(parameters, name, &value);
	return value ? json_object_get_string(value) : "";
}

bool rig_continues(struct json_object *reply)
{
	struct json_object *value = NULL;

	ck_assert_ptr_nonnull(reply);
	json_object_object_get_ex(reply, "continues", &value);
	return json_object_get_boolean(value);
}

void rig_expect(struct rig *rig, const char *text, const char *error, const char *name,
		const char *value)
{
	_cleanup_close_ int fd = rig_connect(rig);
	_cleanup_json_ struct json_object *reply = rig_call(rig, fd, text);

	ck_assert_msg(!strcmp(rig_error(reply), error), "%.200s: %s", text,
		      json_object_to_json_string(reply));
	if (name)
		ck_assert_msg(!strcmp(rig_parameter(reply, name), value), "%.200s: %s", text,
			      json_object_to_json_string(reply));
}

void rig_judge(struct rig *rig, const struct rig_case *one)
{
	rig_expect(rig, one->text, one->error, one->name, one->value);
}

void rig_start(struct rig *rig, const char *name, const char *more)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"method\":\"io.iotracer.Start\",\"parameters\":"
		 "{\"streams\":[\"vfs\"],\"name\":\"%s\"%s}}",
		 name, more);
	rig_expect(rig, text, "", NULL, NULL);
}

void rig_stop(struct rig *rig, const char *name)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"method\":\"io.iotracer.Stop\",\"parameters\":{\"name\":\"%s\"}}", name);
	rig_expect(rig, text, "", NULL, NULL);
}

size_t rig_count_sessions(struct rig *rig)
{
	_cleanup_close_ int fd = rig_connect(rig);
	_cleanup_json_ struct json_object *reply = rig_call(rig, fd, "{\"method\":\"io.iotracer.List\"}");
	struct json_object *sessions;

	ck_assert_int_eq(json_pointer_get(reply, "/parameters/sessions", &sessions), 0);
	return json_object_array_length(sessions);
}

void rig_await_sessions(struct rig *rig, size_t count)
{
	unsigned spent = 0;

	while (rig_count_sessions(rig) != count)
		turn(rig, &spent);
}

struct json_object *rig_status(struct rig *rig, const char *name)
{
	_cleanup_close_ int fd = rig_connect(rig);
	_cleanup_json_ struct json_object *reply = NULL;
	struct json_object *session;
	char text[256];

	snprintf(text, sizeof(text), "{\"method\":\"io.iotracer.Status\",\"parameters\":{\"name\":\"%s\"}}",
		 name);
	reply = rig_call(rig, fd, text);
	ck_assert_int_eq(json_pointer_get(reply, "/parameters/sessions/0", &session), 0);
	return json_object_get(session);
}

const char *rig_text_at(struct json_object *object, const char *pointer)
{
	struct json_object *found;

	ck_assert_msg(!json_pointer_get(object, pointer, &found), "%s is missing in %s", pointer,
		      json_object_to_json_string(object));
	return json_object_get_string(found);
}

/* ---- the linker has the server's calls of the engine come here (--wrap) ---- */

int __real_engine_tail_new(struct engine *engine, const char *name, uint32_t stream_mask, engine_tail_handler handler,
			   void *userdata, struct engine_tail **ret);
int __wrap_engine_tail_new(struct engine *engine, const char *name, uint32_t stream_mask, engine_tail_handler handler,
			   void *userdata, struct engine_tail **ret);
void __real_engine_tail_free(struct engine_tail *tail);
void __wrap_engine_tail_free(struct engine_tail *tail);

static size_t tails;

int __wrap_engine_tail_new(struct engine *engine, const char *name, uint32_t stream_mask, engine_tail_handler handler,
			   void *userdata, struct engine_tail **ret)
{
	int r = __real_engine_tail_new(engine, name, stream_mask, handler, userdata, ret);

	tails += r >= 0;
	return r;
}

void __wrap_engine_tail_free(struct engine_tail *tail)
{
	tails -= tail != NULL;
	__real_engine_tail_free(tail);
}

size_t rig_tails(void)
{
	return tails;
}

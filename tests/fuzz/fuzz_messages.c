// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes from a connection, on the control plane and the engine with a fake probe set: each reply is a message, and
 * the daemon is there for the next connection. To be run as a user who may write nothing of value, as sessions do start.
 */
#include <errno.h>
#include <spawn.h>
#include <sys/socket.h>

#include "cleanup.h"
#include "fuzz.h"
#include "protocol.h"
#include "rig.h"

static struct rig rig;

/* doctor's own process is another program's. */
int __wrap_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attributes, char *const argv[], char *const environment[]);

int __wrap_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attributes, char *const argv[], char *const environment[])
{
	(void)pid, (void)path, (void)actions, (void)attributes, (void)argv, (void)environment;
	return EAGAIN;
}

static void judge_replies(int fd)
{
	static char replies[1 << 20];
	size_t length = 0;
	ssize_t n;

	while (length < sizeof(replies) && (n = recv(fd, replies + length, sizeof(replies) - length, MSG_DONTWAIT)) > 0)
		length += (size_t)n;
	for (char *at = replies, *end; (end = memchr(at, '\0', (size_t)(replies + length - at))); at = end + 1) {
		_cleanup_json_ struct json_object *message = NULL;
		const char *why = "";

		ck_assert_msg(!iotr_message_parse(at, (size_t)(end - at), &message, &why), "%s: %s", why, at);
	}
}

/* Without waiting for what takes time: the next inputs find it under way. */
static void turn_while_busy(void)
{
	while (sd_event_run(rig.control.event, 0) > 0)
		;
}

static void stop_all(void)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = rig_call(&rig, fd, "{\"method\":\"io.iotracer.List\"}");
	struct json_object *sessions;

	ck_assert_int_eq(json_pointer_get(reply, "/parameters/sessions", &sessions), 0);
	for (size_t i = 0; i < json_object_array_length(sessions); i++) {
		struct json_object *name = json_object_object_get(json_object_array_get_idx(sessions, i), "name");
		_cleanup_json_ struct json_object *stopped = NULL;
		char call[512];

		snprintf(call, sizeof(call), "{\"method\":\"io.iotracer.Stop\",\"parameters\":{\"name\":%s}}",
			 json_object_to_json_string(name));
		stopped = rig_call(&rig, fd, call);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd;

	if (!rig.engine)
		rig_init(&rig);
	fd = rig_connect(&rig);
	rig_send(&rig, fd, data, size);
	turn_while_busy();
	judge_replies(fd);
	close(fd);
	turn_while_busy();
	stop_all();
	return 0;
}

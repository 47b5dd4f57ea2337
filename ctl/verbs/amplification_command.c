// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/amplification_command.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "cleanup.h"
#include "output/complain.h"
#include "output/json.h"
#include "request/request.h"
#include "verbs/child.h"
#include "verbs/descendants.h"
#include "verbs/settle.h"

struct counted {
	const struct context *context;
	struct connection connection;
	struct child child;
	bool daemon_gone;
};

static void counted_done(struct counted *counted)
{
	child_done(&counted->child);
	connection_close(&counted->connection);
}

/* Counting has begun when this returns EXIT_DONE. The command has to be there before, as it is told apart from its begin on. */
static int begin(struct counted *counted, struct json_object *parameters)
{
	_cleanup_json_ struct json_object *reply = NULL;
	bool last = false;
	int code;

	json_object_object_add(parameters, "pid", json_object_new_int(counted->child.pid));
	code = request_more(counted->context, &counted->connection, "Amplification", parameters);
	if (code == EXIT_DONE)
		code = request_next(counted->context, &counted->connection, &reply, &last);
	if (code == EXIT_DONE && last) {
		complain(NULL, "the daemon ended the call before the command began");
		return EXIT_FAILED;
	}
	return code;
}

static void on_daemon_gone(void *userdata)
{
	struct counted *counted = userdata;

	counted->daemon_gone = true;
	complain("The command goes on; nothing is told of it.", "the daemon has ended, and what it counted is gone");
}

/* What was counted until now: the daemon replies once more when it hears that no more is sent. */
static int end(struct counted *counted, struct json_object **ret)
{
	bool last = false;
	int code = EXIT_DONE;

	if (shutdown(counted->connection.fd, SHUT_WR) < 0)
		return request_broken(-errno);
	while (code == EXIT_DONE && !last) {
		json_object_put(TAKE(*ret));
		code = request_next(counted->context, &counted->connection, ret, &last);
	}
	return code;
}

/* The command has ended, and counting is about to: what the command started may go on. A new array of that. */
static struct json_object *end_command(struct counted *counted, bool wait)
{
	pid_t helper = 0;

	if (wait)
		child_wait_descendants(&counted->child, counted->connection.fd);
	if (counted->context->settle_ns)
		helper = settle(&counted->child, counted->context->settle_ns);
	return descendants_list(helper);
}

static void complete(const struct context *context, struct json_object *reply, bool grouped, const char *command, int exit_code)
{
	struct json_object *sum = member_of(reply, "command");
	const char *slash = strrchr(command, '/');

	if (sum)
		json_object_object_add(sum, "name", json_object_new_string(slash && slash[1] ? slash + 1 : command));
	json_object_object_add(reply, "exit_code", json_object_new_int(exit_code));
	if (!grouped && !context->json) {
		json_object_object_del(reply, "groups");
		json_object_object_del(reply, "others");
	}
}

int amplification_command(const struct context *context, struct json_object *parameters, char **command,
			  bool wait, void (*show)(struct json_object *reply, const void *userdata), const void *userdata)
{
	_cleanup_(counted_done) struct counted counted = { .context = context, .connection = CONNECTION_NONE,
							   .child = CHILD_NONE };
	_cleanup_json_ struct json_object *reply = NULL, *left = NULL;
	bool grouped = member_of(parameters, "by");
	int r = child_new(command, &counted.child), code, exit_code;

	if (r < 0) {
		complain(NULL, "cannot prepare the command: %s", strerror(-r));
		return EXIT_FAILED;
	}
	code = begin(&counted, parameters);
	if (code != EXIT_DONE)
		return code;
	r = child_release(&counted.child);
	if (r < 0) {
		complain(NULL, "cannot run %s: %s", command[0], strerror(-r));
		return r == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	}
	exit_code = child_wait(&counted.child, counted.connection.fd, on_daemon_gone, &counted);
	if (counted.daemon_gone)
		return EXIT_FAILED;
	left = end_command(&counted, wait);
	code = end(&counted, &reply);
	if (code != EXIT_DONE)
		return code;
	if (!reply) {
		complain(NULL, "the daemon does not tell what it has counted");
		return EXIT_FAILED;
	}
	descendants_complain(left, "counted");
	json_object_object_add(reply, "still_running", json_object_get(left));
	complete(context, reply, grouped, command[0], exit_code);
	show(reply, userdata);
	return exit_code;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "request/request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "output/complain.h"
#include "output/json.h"
#include "output/text.h"
#include "request/explain.h"

static const char who_may[] =
	"Be root, or a member of the group " IOTR_GROUP ", or of " IOTR_READ_GROUP " to list and look.";

/* Explanations of why there is no connection. */
static const struct {
	int error;
	enum exit_code code;
	const char *hint;
} obstacles[] = {
	{ ENOENT, EXIT_UNREACHABLE,
	  "Is iotracerd running? 'systemctl start iotracerd' starts it; --socket names another." },
	{ ECONNREFUSED, EXIT_UNREACHABLE,
	  "iotracerd has ended: 'systemctl start iotracerd' starts it." },
	{ EACCES, EXIT_DENIED, who_may },
	{ EPERM, EXIT_DENIED, who_may },
};

void take_name(struct json_object *parameters, int argc, char **argv)
{
	if (argc)
		json_object_object_add(parameters, "name", json_object_new_string(argv[0]));
}

const char *request_error(struct json_object *message)
{
	struct json_object *error = NULL;

	json_object_object_get_ex(message, "error", &error);
	return error ? json_object_get_string(error) : NULL;
}

int request_open_reply(const struct context *context, struct json_object *message,
		       struct json_object **ret)
{
	_cleanup_json_ struct json_object *none = json_object_new_object();
	const char *error = request_error(message);
	struct json_object *parameters = NULL;

	json_object_object_get_ex(message, "parameters", &parameters);
	if (!json_object_is_type(parameters, json_type_object))
		parameters = none;
	if (error) {
		if (context->json)
			print_json(message);
		return explain_error(context, error, parameters);
	}
	*ret = json_object_get(parameters);
	return EXIT_DONE;
}

int request_broken(int r)
{
	const char *what = r == -ECONNRESET ? "the daemon closed the connection" : strerror(-r);

	complain("Is iotracerd still running? Its log may say more.", "%s", what);
	return r == -ECONNRESET ? EXIT_UNREACHABLE : EXIT_FAILED;
}

int request_connect(const struct context *context, struct connection *connection)
{
	int r = connection_open(context->socket, connection);

	if (r >= 0)
		return EXIT_DONE;
	for (size_t i = 0; i < sizeof(obstacles) / sizeof(obstacles[0]); i++)
		if (obstacles[i].error == -r) {
			complain(obstacles[i].hint, "cannot reach the daemon at %s: %s",
				 context->socket, strerror(-r));
			return obstacles[i].code;
		}
	complain(NULL, "cannot reach the daemon at %s: %s", context->socket, strerror(-r));
	return EXIT_UNREACHABLE;
}

static int send_call(struct connection *connection, const char *method, struct json_object *parameters,
		     bool more)
{
	char name[64];

	snprintf(name, sizeof(name), IOTR_INTERFACE ".%s", method);
	return connection_send(connection, name, parameters, more);
}

int request_more(const struct context *context, struct connection *connection, const char *method,
		 struct json_object *parameters)
{
	int code = request_connect(context, connection), r;

	if (code != EXIT_DONE)
		return code;
	r = send_call(connection, method, parameters, true);
	return r < 0 ? request_broken(r) : EXIT_DONE;
}

int request_next(const struct context *context, struct connection *connection, struct json_object **reply, bool *last)
{
	_cleanup_json_ struct json_object *message = NULL;
	int r = connection_receive(connection, &message);

	*last = r == -EINTR;
	if (*last)
		return EXIT_DONE;
	if (r < 0)
		return request_broken(r);
	*last = !json_object_get_boolean(member_of(message, "continues"));
	return request_open_reply(context, message, reply);
}

int request_call(const struct context *context, struct connection *connection, const char *method,
		 struct json_object *parameters, struct json_object **reply)
{
	_cleanup_json_ struct json_object *message = NULL;
	int r = send_call(connection, method, parameters, false);

	if (r >= 0)
		r = connection_receive(connection, &message);
	if (r < 0)
		return request_broken(r);
	return request_open_reply(context, message, reply);
}

int request(const struct context *context, const char *method, struct json_object *parameters,
	    struct json_object **reply)
{
	_cleanup_(connection_close) struct connection connection = CONNECTION_NONE;
	int code = request_connect(context, &connection);

	if (code != EXIT_DONE)
		return code;
	return request_call(context, &connection, method, parameters, reply);
}

void complain_warnings(struct json_object *reply)
{
	struct json_object *warnings = member_of(reply, "warnings");

	for (size_t i = 0; i < count_of(warnings); i++)
		put_line(stderr, "iotracectl: warning: %s",
			 json_object_get_string(json_object_array_get_idx(warnings, i)));
}

int complain_failed(struct json_object *reply)
{
	struct json_object *failed = member_of(reply, "failed");

	for (size_t i = 0; i < count_of(failed); i++) {
		struct json_object *session = json_object_array_get_idx(failed, i);

		complain(NULL, "session %s: %s", text_of(session, "name", "?"), text_of(session, "reason", "it failed"));
	}
	return count_of(failed) ? EXIT_FAILED : EXIT_DONE;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "output.h"

/* What an error of the protocol means to the user. {NAME} is replaced by that parameter of the error. */
static const struct explanation {
	const char *error;
	enum exit_code code;
	const char *what;
	const char *hint;
} explanations[] = {
	{ IOTR_NO_SUCH_SESSION, EXIT_NO_SESSION, "there is no session '{name}'",
	  "'iotracectl list' shows those that run." },
	{ IOTR_SESSION_EXISTS, EXIT_FAILED, "a session '{name}' runs already",
	  "Stop it with 'iotracectl stop {name}', or give this one another name." },
	{ IOTR_TOO_MANY_SESSIONS, EXIT_FAILED, "{limit} sessions run, more cannot",
	  "Stop one with 'iotracectl stop NAME'." },
	{ IOTR_TOO_MANY_CONNECTIONS, EXIT_FAILED, "the daemon has no connection to spare",
	  "Try again when other clients have ended." },
	{ IOTR_NO_HOOK, EXIT_FAILED, "this kernel has no hook for what was asked: {reason}",
	  "'iotracectl doctor' shows what it has." },
	{ IOTR_OUTPUT_UNUSABLE, EXIT_FAILED, "cannot write to {path}: {reason}",
	  "Give an empty or a new folder with --output." },
	{ IOTR_PERMISSION_DENIED, EXIT_DENIED, "you may not control the daemon",
	  "Be root, or a member of the group " IOTR_GROUP "." },
	{ IOTR_PROTOCOL_ERROR, EXIT_FAILED, "the daemon did not understand: {message}", NULL },
	{ IOTR_FAILED, EXIT_FAILED, "{message}", "The daemon's log may say more." },
	{ VARLINK_METHOD_NOT_FOUND, EXIT_FAILED, "the daemon does not know {method}",
	  "It is older than this client: restart it after an update." },
	{ VARLINK_INTERFACE_NOT_FOUND, EXIT_FAILED, "what listens there is no iotracerd",
	  "Look at --socket." },
};

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
	{ EACCES, EXIT_DENIED, "Be root, or a member of the group " IOTR_GROUP "." },
	{ EPERM, EXIT_DENIED, "Be root, or a member of the group " IOTR_GROUP "." },
};

static const struct explanation *find_explanation(const char *error)
{
	for (size_t i = 0; i < sizeof(explanations) / sizeof(explanations[0]); i++)
		if (!strcmp(explanations[i].error, error))
			return &explanations[i];
	return NULL;
}

/* Replaces each {NAME} in the template, and truncates the result to `size`. */
static void fill_in(char *text, size_t size, const char *template, struct json_object *parameters)
{
	FILE *stream = fmemopen(text, size, "w");

	if (!stream)
		return;
	while (*template) {
		size_t plain = strcspn(template, "{");
		char key[32] = "";
		int length = 0;

		fwrite(template, 1, plain, stream);
		template += plain;
		if (sscanf(template, "{%31[a-z]}%n", key, &length) != 1)
			continue;
		fputs(text_of(parameters, key, ""), stream);
		template += length;
	}
	fclose(stream);
	text[size - 1] = '\0';
}

/*
 * Parameters that the user does not give as an option: their names mean nothing to him and are not printed.
 */
static bool is_word(const char *parameter)
{
	static const char *const words[] = { "name", "kind", "streams", "pids", "method" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i], parameter))
			return true;
	return false;
}

static int complain_parameter(const struct context *context, struct json_object *parameters)
{
	const char *name = text_of(parameters, "parameter", "");
	const char *message = text_of(parameters, "message", "it cannot be used");
	const struct option_row *row =
		options_find(context->verb ? context->verb->groups : NULL, name);

	if (row)
		complain(NULL, "--%s: %s", row->name, message);
	else if (is_word(name))
		complain(NULL, "%s", message);
	else
		complain(NULL, "%s: %s", name, message);
	return EXIT_USAGE;
}

/* Prints each finding, which contains file and line. */
static int complain_configuration(struct json_object *parameters)
{
	struct json_object *errors = member_of(parameters, "errors");
	size_t count = count_of(errors);

	for (size_t i = 0; i < count; i++)
		complain(i + 1 == count ? "Nothing was changed: the daemon goes on as it was configured." : NULL,
			 "%s", json_object_get_string(json_object_array_get_idx(errors, i)));
	return EXIT_FAILED;
}

void complain_warnings(struct json_object *reply)
{
	struct json_object *warnings = member_of(reply, "warnings");

	for (size_t i = 0; i < count_of(warnings); i++)
		put_line(stderr, "iotracectl: warning: %s",
			 json_object_get_string(json_object_array_get_idx(warnings, i)));
}

static int complain_error(const struct context *context, const char *error,
			  struct json_object *parameters)
{
	const struct explanation *explanation = find_explanation(error);
	char what[1024] = "", hint[256] = "";

	if (!strcmp(error, VARLINK_INVALID_PARAMETER))
		return complain_parameter(context, parameters);
	if (!strcmp(error, IOTR_BAD_CONFIGURATION))
		return complain_configuration(parameters);
	if (!strcmp(error, IOTR_NO_SUCH_SESSION) && !*text_of(parameters, "name", "")) {
		complain("Start one, as with 'iotracectl start --vfs'.", "no session is running");
		return EXIT_NO_SESSION;
	}
	if (!explanation) {
		complain(NULL, "the daemon answers %s", error);
		return EXIT_FAILED;
	}
	fill_in(what, sizeof(what), explanation->what, parameters);
	fill_in(hint, sizeof(hint), explanation->hint ?: "", parameters);
	complain(*hint ? hint : NULL, "%s", what);
	return explanation->code;
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
		return complain_error(context, error, parameters);
	}
	*ret = json_object_get(parameters);
	return EXIT_DONE;
}

int request_broken(const struct context *context, int r)
{
	const char *what = r == -ECONNRESET ? "the daemon closed the connection" : strerror(-r);

	(void)context;
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
	return r < 0 ? request_broken(context, r) : EXIT_DONE;
}

int request_call(const struct context *context, struct connection *connection, const char *method,
		 struct json_object *parameters, struct json_object **reply)
{
	_cleanup_json_ struct json_object *message = NULL;
	int r = send_call(connection, method, parameters, false);

	if (r >= 0)
		r = connection_receive(connection, &message);
	if (r < 0)
		return request_broken(context, r);
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

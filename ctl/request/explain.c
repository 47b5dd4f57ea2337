// SPDX-License-Identifier: GPL-2.0-or-later
#include "request/explain.h"

#include <stdio.h>
#include <string.h>

#include "command_line/options.h"
#include "output/complain.h"
#include "output/json.h"
#include "protocol.h"

/* What an error of the protocol means to the user. {NAME} is replaced by that parameter of the error. */
static const struct explanation {
	const char *error;
	enum exit_code code;
	const char *what;
	const char *hint;
} explanations[] = {
	{ IOTR_NO_SUCH_SESSION, EXIT_NO_SESSION, "there is no session '{name}'",
	  "'iotracectl list' shows those that run." },
	{ IOTR_SESSION_EXISTS, EXIT_FAILED, "a session '{name}' is running already",
	  "Stop it with 'iotracectl stop {name}', or give this one another name." },
	{ IOTR_TOO_MANY_SESSIONS, EXIT_FAILED, "{limit} sessions are running, which is the limit",
	  "Stop one with 'iotracectl stop NAME'." },
	{ IOTR_TOO_MANY_CONNECTIONS, EXIT_FAILED, "the daemon has too many connections",
	  "Try again when other clients have ended." },
	{ IOTR_NO_HOOK, EXIT_PARTLY, "nothing of what was asked can be recorded on this kernel: {reason}",
	  "'iotracectl doctor' shows what it has." },
	{ IOTR_OUTPUT_UNUSABLE, EXIT_FAILED, "cannot write to {path}: {reason}",
	  "Give an empty or a new folder with --output." },
	{ IOTR_PERMISSION_DENIED, EXIT_DENIED, "this takes the role '{role}', which you do not have",
	  "Be root, or a member of the group {group}." },
	{ IOTR_PROTOCOL_ERROR, EXIT_FAILED, "the daemon did not understand: {message}", NULL },
	{ IOTR_FAILED, EXIT_FAILED, "{message}", "The daemon's log may say more." },
	{ VARLINK_METHOD_NOT_FOUND, EXIT_FAILED, "the daemon does not know {method}",
	  "It is older than this client: restart it after an update." },
	{ VARLINK_INTERFACE_NOT_FOUND, EXIT_FAILED, "what listens there is no iotracerd",
	  "Look at --socket." },
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

/* What to do about it, or NULL. A path that is not there yet cannot be known by what it leads to. */
static const char *hint_about(const char *parameter, const char *message)
{
	static const char missing[] = ": No such file or directory";
	size_t length = strlen(message), end = strlen(missing);

	if (strcmp(parameter, "paths") || length < end || strcmp(message + length - end, missing))
		return NULL;
	return "To see who makes it, name the folder in which it will be; 'iotracectl show TRACE --path FILE' picks the file then.";
}

static int complain_parameter(const struct context *context, struct json_object *parameters)
{
	const char *name = text_of(parameters, "parameter", "");
	const char *message = text_of(parameters, "message", "it cannot be used");
	const struct option_row *row =
		options_find(context->verb ? context->verb->options : NULL, name);
	const char *hint = hint_about(name, message);

	if (row)
		complain(hint, "--%s: %s", row->name, message);
	else if (is_word(name))
		complain(hint, "%s", message);
	else
		complain(hint, "%s: %s", name, message);
	return EXIT_USAGE;
}

/* Prints each finding, which contains file and line. */
static int complain_configuration(struct json_object *parameters)
{
	struct json_object *errors = member_of(parameters, "errors");
	const char *hint = json_object_get_boolean(member_of(parameters, "applied")) ?
				   "The sessions of these files stay as they were; all else was taken up." :
				   "Nothing was changed: the daemon keeps its configuration.";
	size_t count = count_of(errors);

	for (size_t i = 0; i < count; i++)
		complain(i + 1 == count ? hint : NULL, "%s", json_object_get_string(json_object_array_get_idx(errors, i)));
	return EXIT_FAILED;
}

int explain_error(const struct context *context, const char *error, struct json_object *parameters)
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
		complain(NULL, "the daemon answered with the error %s", error);
		return EXIT_FAILED;
	}
	fill_in(what, sizeof(what), explanation->what, parameters);
	fill_in(hint, sizeof(hint), explanation->hint ?: "", parameters);
	complain(*hint ? hint : NULL, "%s", what);
	return explanation->code;
}

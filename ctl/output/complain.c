// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/complain.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "cleanup.h"
#include "output/json.h"
#include "output/screen.h"
#include "output/text.h"
#include "protocol.h"

static char complaint[2 * PATH_MAX]; /* the last error */

void complain(const char *hint, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(complaint, sizeof(complaint), format, arguments);
	va_end(arguments);
	screen_close(); /* so that it stays to be read */
	fflush(stdout);
	fputs("iotracectl: ", stderr);
	put_text(stderr, complaint);
	fputc('\n', stderr);
	if (hint)
		put_line(stderr, "%s", hint);
}

/* Prints the error in the form of a reply of the daemon. */
static void print_error(const char *error, struct json_object *parameters)
{
	_cleanup_json_ struct json_object *document = json_object_new_object();

	json_object_object_add(parameters, "message", json_escaped(complaint));
	json_object_object_add(document, "error", json_object_new_string(error));
	json_object_object_add(document, "parameters", parameters);
	print_json(document);
}

static void print_usage_error(const char *parameter)
{
	struct json_object *parameters = json_object_new_object();

	json_object_object_add(parameters, "parameter", parameter ? json_escaped(parameter) : NULL);
	print_error(VARLINK_INVALID_PARAMETER, parameters);
}

int complain_usage_of(const struct context *context, const char *parameter, const char *format, ...)
{
	const char *verb = context->verb ? context->verb->name : "";
	const char *space = *verb ? " " : "";
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(complaint, sizeof(complaint), format, arguments);
	va_end(arguments);
	put_line(stderr, "iotracectl%s%s: %s", space, verb, complaint);
	fprintf(stderr, "Try 'iotracectl %s%s--help'.\n", verb, space);
	if (context->wants_json)
		print_usage_error(parameter);
	return EXIT_USAGE;
}

void complain_in_json(void)
{
	if (*complaint && !json_printed())
		print_error(IOTR_FAILED, json_object_new_object());
}

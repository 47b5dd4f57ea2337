// SPDX-License-Identifier: GPL-2.0-or-later
#include "dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "engine.h"
#include "log.h"
#include "reply.h"
#include "spec/arguments.h"

struct dump {
	struct call *call;
	const char *output;	    /* borrowed from the call */
	struct engine_dump *source; /* NULL once it has ended */
};

struct dump_choice {
	const char *name;
	uint64_t last_ns;
	const char *output;
};

/* The client has disconnected; the files are written nevertheless. */
static void dump_free(void *state)
{
	struct dump *dump = state;

	if (dump->source)
		engine_dump_forget(dump->source);
	free(dump);
}

static void on_done(struct json_object *result, const struct engine_error *error, void *userdata)
{
	struct dump *dump = userdata;

	dump->source = NULL;
	if (result)
		reply_value(dump->call, "dump", result);
	else if (!strcmp(error->parameter, "output"))
		reply_output(dump->call, dump->output, error->message);
	else
		call_failed(dump->call, "%s", error->message);
}

static int parse_last(struct json_object *value, void *target, struct engine_error *error)
{
	return argument_number(value, 1, INT64_MAX, &((struct dump_choice *)target)->last_ns, error);
}

static const struct argument dump_arguments[] = {
	{ .name = "name", .parse = argument_session, .offset = offsetof(struct dump_choice, name),
	  .required = true },
	{ .name = "last_ns", .parse = parse_last },
	{ .name = "output", .parse = argument_folder, .offset = offsetof(struct dump_choice, output) },
	{ .name = NULL },
};

static void reply_refused(struct call *call, const struct dump_choice *choice, int r,
			  const struct engine_error *error)
{
	if (r == -ENOENT)
		reply_no_such_session(call, choice->name);
	else if (r == -EOPNOTSUPP)
		call_invalid(call, "name", "the session is not a flight recorder: its rows are in files");
	else if (r == -EBUSY)
		call_failed(call, "a dump of session %s is being written: try again when it is done",
			    choice->name);
	else
		call_failed(call, "the session cannot be dumped: %s",
			    *error->message ? error->message : strerror(-r));
}

int dump_call(struct call *call)
{
	struct dump_choice choice = { .output = "" };
	struct engine_error error = { 0 };
	struct dump *dump;
	int r;

	if (call_arguments(call, dump_arguments, &choice) < 0)
		return 0;
	dump = calloc(1, sizeof(*dump));
	if (!dump)
		return -ENOMEM;
	dump->call = call;
	dump->output = choice.output;
	call_keep(call, dump, dump_free);
	r = engine_dump_new(call->control->engine, choice.name, choice.last_ns, choice.output, call->caller,
			    on_done, dump, &dump->source, &error);
	if (r < 0)
		reply_refused(call, &choice, r, &error);
	else
		log_info("session %s is dumped by uid %u", choice.name, call->caller->uid);
	return 0;
}

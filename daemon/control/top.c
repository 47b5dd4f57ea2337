// SPDX-License-Identifier: GPL-2.0-or-later
#include "top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "engine.h"
#include "protocol.h"
#include "reply.h"
#include "spec/filter_arguments.h"
#include "spec/filter_fit.h"

#define MEMORY		(16ULL << 20) /* bytes; enough for some 70,000 rows per interval */
#define INTERVAL_NS	1000000000ULL
#define INTERVAL_MIN_NS 100000000ULL
#define INTERVAL_MAX_NS 3600000000000ULL
#define COUNT		20
#define COUNT_MAX	1000

struct top {
	struct call *call; /* NULL: it has ended */
	struct engine *engine;
	char name[IOTR_SESSION_NAME_MAX + 1]; /* of its session; "" while there is none */
	bool starting;
	uint64_t interval_ns;
	struct engine_look look;
	uint64_t since_ns;
	sd_event_source *timer;
};

/* The spec must be the first member: the parsers of streams and filters use this struct as a spec. */
struct top_arguments {
	struct iotr_session_spec spec;
	uint64_t interval_ns;
	struct engine_look look;
};

static int parse_interval(struct json_object *value, void *target, struct engine_error *error)
{
	return argument_number(value, INTERVAL_MIN_NS, INTERVAL_MAX_NS,
			       &((struct top_arguments *)target)->interval_ns, error);
}

static int parse_count(struct json_object *value, void *target, struct engine_error *error)
{
	return argument_number(value, 1, COUNT_MAX, &((struct top_arguments *)target)->look.count,
			       error);
}

static int parse_sort(struct json_object *value, void *target, struct engine_error *error)
{
	const char *name = NULL, *order;
	int r = argument_string(value, &name, error);

	if (r < 0)
		return r;
	order = engine_look_order(name);
	if (!order)
		return argument_refuse(error, "the order is rows, bytes or latency");
	((struct top_arguments *)target)->look.order = order; /* the parameter is freed before the order is used */
	return 0;
}

static int parse_by(struct json_object *value, void *target, struct engine_error *error)
{
	const char *name = NULL, *by;
	int r = argument_string(value, &name, error);

	if (r < 0)
		return r;
	by = engine_look_by(name);
	if (!by)
		return argument_refuse(error, "it is summed up by process, file, directory, device, unit, "
					      "container or operation");
	((struct top_arguments *)target)->look.by = by;
	return 0;
}

/* Its own parameters, and those of Start that select rows. */
static const struct argument top_rows[] = {
	{ .name = "interval_ns", .parse = parse_interval },
	{ .name = "count", .parse = parse_count },
	{ .name = "sort", .parse = parse_sort },
	{ .name = "by", .parse = parse_by },
	STREAMS_ARGUMENT,
	FILTER_ARGUMENTS
	{ .name = NULL },
};

static void on_stopped(int result, struct json_object *status, void *userdata)
{
	(void)result, (void)userdata;
	json_object_put(status);
}

static void stop_session(const struct top *top)
{
	if (*top->name)
		engine_stop(top->engine, top->name, on_stopped, NULL);
}

/* If the session is still starting, on_started() stops it and frees this. */
static void top_free(void *state)
{
	struct top *top = state;
	bool starting = top->starting;

	sd_event_source_disable_unref(top->timer);
	top->call = NULL;
	stop_session(top);
	if (!starting)
		free(top);
}

/* A reply that the client has no room for is dropped; it gets the next one. */
static int on_interval(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct top *top = userdata;
	struct json_object *reply = NULL;
	int r;

	(void)usec;
	r = engine_look(top->engine, top->name, &top->look, &top->since_ns, &reply);
	if (r < 0) {
		if (r == -ENOENT) /* otherwise the session is still to be stopped when the call ends */
			*top->name = '\0';
		call_reply(top->call, NULL);
		return 0;
	}
	call_reply_more(top->call, reply);
	sd_event_source_set_time_relative(source, top->interval_ns / 1000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int begin(struct top *top)
{
	top->since_ns = clock_ns(CLOCK_MONOTONIC);
	return sd_event_add_time_relative(top->call->control->event, &top->timer, CLOCK_MONOTONIC,
					  top->interval_ns / 1000, 0, on_interval, top);
}

static void on_started(int result, struct json_object *status, const struct engine_error *error,
		       void *userdata)
{
	struct top *top = userdata;
	int r;

	json_object_put(status);
	top->starting = false;
	if (!top->call) {
		if (result >= 0)
			stop_session(top);
		free(top);
		return;
	}
	if (result < 0) {
		*top->name = '\0';
		reply_start_failed(top->call, &(struct iotr_session_spec){ 0 }, result, error);
		return;
	}
	r = begin(top);
	if (r < 0)
		call_failed(top->call, "Top failed: %s", strerror(-r));
}

static int start_session(struct top *top, struct iotr_session_spec *spec, struct engine_error *error)
{
	static unsigned int number; /* so that no name is used twice */
	int r;

	top->starting = true;
	do {
		snprintf(spec->name, sizeof(spec->name), "top-%u", ++number);
		strcpy(top->name, spec->name);
		r = engine_start(top->engine, spec, top->call->caller, on_started, top, error);
	} while (r == -EEXIST);
	if (r < 0) {
		top->starting = false;
		*top->name = '\0';
	}
	return r;
}

static int read_arguments(struct call *call, struct top_arguments *arguments, struct engine_error *error)
{
	_cleanup_json_ struct json_object *warnings = json_object_new_array(); /* warnings are not part of the reply */
	int r = arguments_read(call->parameters, top_rows, arguments, error);

	if (r >= 0)
		r = filter_arguments_fit(&arguments->spec, error);
	return r < 0 ? r : filter_fit_now(&arguments->spec, warnings, error);
}

/* On failure the error has been replied. */
static void start(struct top *top)
{
	struct top_arguments arguments = {
		.spec = { .flight_recorder = MEMORY },
		.interval_ns = INTERVAL_NS,
		.look = { .order = "bytes", .count = COUNT },
	};
	struct engine_error error = { 0 };
	int r = read_arguments(top->call, &arguments, &error);

	if (r < 0) {
		call_invalid(top->call, error.parameter, error.message);
	} else {
		top->interval_ns = arguments.interval_ns;
		top->look = arguments.look;
		r = start_session(top, &arguments.spec, &error);
		if (r < 0)
			reply_start_failed(top->call, &arguments.spec, r, &error);
	}
	iotr_session_spec_done(&arguments.spec);
}

int top_call(struct call *call)
{
	struct top *top;

	if (!call->more) {
		call_error(call, VARLINK_EXPECTED_MORE, NULL);
		return 0;
	}
	top = calloc(1, sizeof(*top));
	if (!top)
		return -ENOMEM;
	*top = (struct top){ .call = call, .engine = call->control->engine };
	call_keep(call, top, top_free);
	start(top);
	return 0;
}

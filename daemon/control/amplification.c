// SPDX-License-Identifier: GPL-2.0-or-later
#include "amplification.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "context.h"
#include "protocol.h"
#include "reply.h"
#include "session_spec.h"
#include "spec/arguments.h"

#define INTERVAL_NS	1000000000ULL
#define INTERVAL_MIN_NS 100000000ULL
#define TIME_MAX_NS	(30 * 86400 * 1000000000ULL)
#define COUNT		20
#define COUNT_MAX	200 /* a reply must not be larger than a client may leave unread */

struct arguments {
	struct engine_amplification_wish wish;
	const char *systems[IOTR_FILTER_VALUES_MAX];
	uint64_t duration_ns, interval_ns; /* 0: not given */
};

struct watch {
	struct call *call;
	struct engine_amplification *amplification;
	uint64_t interval_ns; /* 0: there are no replies but the first and the last one */
	uint64_t duration_ns; /* 0: until the caller hangs up, or there is one reply alone */
	uint64_t end_ns;      /* CLOCK_MONOTONIC, 0: none */
	bool command; /* what a process and its descendants do is told apart, until the caller sends no more */
	bool begun, ended;
	sd_event_source *timer;
};

/* ---- parameters ---- */

static int parse_duration(struct json_object *value, void *target, struct engine_error *error)
{
	return argument_number(value, INTERVAL_MIN_NS, TIME_MAX_NS, &((struct arguments *)target)->duration_ns, error);
}

static int parse_interval(struct json_object *value, void *target, struct engine_error *error)
{
	return argument_number(value, INTERVAL_MIN_NS, TIME_MAX_NS, &((struct arguments *)target)->interval_ns, error);
}

static int parse_count(struct json_object *value, void *target, struct engine_error *error)
{
	return argument_number(value, 1, COUNT_MAX, &((struct arguments *)target)->wish.count, error);
}

static int parse_by(struct json_object *value, void *target, struct engine_error *error)
{
	return argument_string(value, &((struct arguments *)target)->wish.by, error);
}

static int parse_pid(struct json_object *value, void *target, struct engine_error *error)
{
	uint64_t pid = 0;
	int r = argument_number(value, 1, ARGUMENT_PID_MAX, &pid, error);

	((struct arguments *)target)->wish.pid = (uint32_t)pid;
	return r;
}

static int add_system(struct json_object *value, void *target, struct engine_error *error)
{
	struct arguments *arguments = target;

	return argument_string(value, &arguments->systems[arguments->wish.system_count++], error);
}

static int parse_systems(struct json_object *value, void *target, struct engine_error *error)
{
	struct arguments *arguments = target;

	arguments->wish.system_count = 0;
	arguments->wish.systems = arguments->systems;
	return argument_list(value, add_system, target, error);
}

static const struct argument rows[] = {
	{ .name = "by", .parse = parse_by },
	{ .name = "systems", .parse = parse_systems },
	{ .name = "duration_ns", .parse = parse_duration },
	{ .name = "interval_ns", .parse = parse_interval },
	{ .name = "count", .parse = parse_count },
	{ .name = "pid", .parse = parse_pid },
	{ .name = NULL },
};

/* ---- replies ---- */

static void reply(struct watch *watch, bool last)
{
	struct json_object *value = NULL;
	int r = engine_amplification_look(watch->amplification, &value);

	if (r == -ENOENT)
		call_failed(watch->call, "I/O is not counted by layer any more: the configuration was changed");
	else if (r < 0)
		call_failed(watch->call, "what was counted cannot be read: %s", strerror(-r));
	else if (last)
		call_reply(watch->call, value);
	else
		call_reply_more(watch->call, value); /* one that the client has no room for is dropped; it gets the next */
}

static int on_time(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct watch *watch = userdata;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	bool last = watch->end_ns && now >= watch->end_ns;
	uint64_t wait_ns = watch->interval_ns ?: UINT64_MAX;

	(void)usec;
	if (last || watch->call->more)
		reply(watch, last);
	if (watch->call->done)
		return 0;
	if (watch->end_ns && watch->end_ns - now < wait_ns)
		wait_ns = watch->end_ns - now;
	sd_event_source_set_time_relative(source, wait_ns / 1000 + 1);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void wait_for(struct watch *watch)
{
	uint64_t wait_ns = watch->interval_ns ?: UINT64_MAX;
	int r;

	if (!watch->interval_ns && !watch->duration_ns)
		return;
	if (watch->duration_ns) {
		watch->end_ns = clock_ns(CLOCK_MONOTONIC) + watch->duration_ns;
		wait_ns = watch->duration_ns < wait_ns ? watch->duration_ns : wait_ns;
	}
	r = sd_event_add_time_relative(watch->call->control->event, &watch->timer, CLOCK_MONOTONIC, wait_ns / 1000, 1000,
				       on_time, watch);
	if (r < 0)
		call_failed(watch->call, "Amplification failed: %s", strerror(-r));
}

static void on_begun(const struct engine_error *error, void *userdata)
{
	struct watch *watch = userdata;

	watch->begun = true;
	if (!error && watch->command && !watch->ended)
		reply(watch, false); /* now the command may begin */
	if (watch->call->done)
		return;
	if (error && *error->parameter)
		call_invalid(watch->call, error->parameter, error->message);
	else if (error)
		reply_error(watch->call, IOTR_NO_HOOK, "reason", error->message);
	else if (watch->ended)
		reply(watch, true);
	else if (watch->duration_ns || watch->call->more)
		wait_for(watch);
	else
		reply(watch, true);
}

/* The command is over. */
static void on_end(struct call *call)
{
	struct watch *watch = call->state;

	watch->ended = true;
	if (watch->begun)
		reply(watch, true);
}

/* ---- the call ---- */

static void watch_free(void *state)
{
	struct watch *watch = state;

	sd_event_source_disable_unref(watch->timer);
	engine_amplification_free(watch->amplification);
	free(watch);
}

static void refuse(struct call *call, int r, const struct engine_error *error)
{
	if (r == -EINVAL)
		call_invalid(call, error->parameter, error->message);
	else if (r == -ENOENT)
		call_invalid(call, "duration_ns", "it is needed, as I/O is not counted by layer all the time");
	else if (r == -EBUSY)
		call_failed(call, "too many look at amplification already");
	else
		call_failed(call, "Amplification failed: %s", strerror(-r));
}

static int begin(struct watch *watch, struct arguments *arguments, struct engine_error *error)
{
	struct engine *engine = watch->call->control->engine;
	int r;

	arguments->wish.since_start = !arguments->duration_ns && !arguments->wish.pid;
	r = engine_amplification_new(engine, &arguments->wish, on_begun, watch, &watch->amplification, error);
	if (r != -ENOENT || !watch->call->more)
		return r;
	arguments->wish.since_start = false; /* it is not counted all the time, but from now on */
	return engine_amplification_new(engine, &arguments->wish, on_begun, watch, &watch->amplification, error);
}

int amplification_call(struct call *call)
{
	struct arguments arguments = { .wish = { .by = "system", .count = COUNT } };
	struct engine_error error = { 0 };
	struct watch *watch;
	int r;

	if (call_arguments(call, rows, &arguments) < 0)
		return 0;
	if (arguments.wish.pid && !call->more) {
		call_invalid(call, "pid", "it needs a call with more, which ends when the caller sends no more");
		return 0;
	}
	if (arguments.wish.pid && arguments.wish.systems) {
		call_invalid(call, "systems", "pid and systems exclude each other");
		return 0;
	}
	watch = calloc(1, sizeof(*watch));
	if (!watch)
		return -ENOMEM;
	*watch = (struct watch){ .call = call, .interval_ns = arguments.interval_ns, .duration_ns = arguments.duration_ns,
				 .command = arguments.wish.pid };
	if (!watch->interval_ns && !watch->command)
		watch->interval_ns = INTERVAL_NS;
	call_keep(call, watch, watch_free);
	if (watch->command)
		call->on_end = on_end;
	r = begin(watch, &arguments, &error);
	if (r < 0)
		refuse(call, r, &error);
	return 0;
}

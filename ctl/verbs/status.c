// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "command_line/options.h"
#include "output/interrupt.h"
#include "output/json.h"
#include "output/sessions.h"
#include "output/text.h"
#include "request/request.h"
#include "units.h"
#include "verbs/live.h"

static void print_bpf(struct json_object *bpf, FILE *stream)
{
	const char *reason = text_of(bpf, "reason", NULL);
	char runs[32];

	if (member_of(bpf, "ns_per_s")) {
		fprintf(stream, ", BPF programs %.2f %% (%s runs a second of %lluns)",
		       (double)number_of(bpf, "ns_per_s") / 1e7,
		       format_count(runs, sizeof(runs), number_of(bpf, "runs_per_s")),
		       (unsigned long long)number_of(bpf, "ns_per_run"));
	} else if (reason) {
		fputs(", BPF programs unknown: ", stream);
		put_text(stream, reason);
	}
}

static void print_daemon(struct json_object *reply, FILE *stream)
{
	struct json_object *cost = member_of(reply, "cost"), *own = member_of(reply, "own");
	char uptime[32], cpu[32], operations[32];

	fprintf(stream, "iotracerd %s, process %llu, up %s\n", text_of(reply, "version", "?"),
	       (unsigned long long)number_of(reply, "pid"),
	       iotr_format_duration(uptime, sizeof(uptime),
				    number_of(reply, "uptime") * 1000000000));
	if (!cost)
		return;
	fprintf(stream, "cost of a CPU: daemon %.2f %% (%s so far)",
	       (double)number_of(cost, "cpu_ns_per_s") / 1e7,
	       iotr_format_duration(cpu, sizeof(cpu), number_of(cost, "cpu_ns")));
	print_bpf(member_of(cost, "bpf"), stream);
	putc('\n', stream);
	if (own)
		fprintf(stream, "left out: what %llu processes of iotracer itself do (%s operations so far)\n",
			(unsigned long long)number_of(own, "processes"),
			format_count(operations, sizeof(operations), number_of(own, "operations")));
}

static void print_status(struct json_object *reply, bool of_one, FILE *stream)
{
	struct json_object *sessions = member_of(reply, "sessions");

	if (!of_one)
		print_daemon(reply, stream);
	if (!count_of(sessions))
		fputs("No session is running.\n", stream);
	for (size_t i = 0; i < count_of(sessions); i++) {
		if (i || !of_one)
			putc('\n', stream);
		print_session(json_object_array_get_idx(sessions, i), stream);
	}
}

struct watch {
	struct json_object *parameters;
	struct connection connection;
	const char *name; /* of the session that is watched, or NULL: all sessions */
	struct live live;
};

/* Whether the one session that is watched has ended. */
static bool has_ended(const struct watch *watch, struct json_object *reply)
{
	struct json_object *sessions = member_of(reply, "sessions");

	return watch->name && count_of(sessions) &&
	       !strcmp(text_of(json_object_array_get_idx(sessions, 0), "state", ""), "ended");
}

static size_t print(struct live *live, struct json_object *reply, FILE *picture)
{
	const struct watch *watch = live->userdata;

	print_status(reply, watch->name, picture);
	return 0;
}

/* Whether the error is that a session shown before does not exist any more: somebody stopped it. */
static bool was_stopped(const struct watch *watch, struct json_object *message)
{
	const char *error = request_error(message);

	return watch->live.shown && error && !strcmp(error, IOTR_NO_SUCH_SESSION);
}

/* Shows one status. Returns EXIT_DONE and `*last`, or the exit code. */
static int show_next(struct watch *watch, bool *last)
{
	_cleanup_json_ struct json_object *message = NULL, *reply = NULL;
	int r, code;

	r = connection_send(&watch->connection, IOTR_INTERFACE ".Status", watch->parameters, false);
	if (r >= 0)
		r = connection_receive(&watch->connection, &message);
	*last = interrupt_came();
	if (*last)
		return EXIT_DONE;
	if (r < 0)
		return request_broken(r);
	if (was_stopped(watch, message)) {
		live_end(&watch->live);
		if (!watch->live.context->json)
			put_line(stdout, "%s: stopped", watch->name);
		*last = true;
		return EXIT_DONE;
	}
	code = request_open_reply(watch->live.context, message, &reply);
	if (code != EXIT_DONE)
		return code;
	*last = !live_take(&watch->live, reply) || has_ended(watch, reply);
	return EXIT_DONE;
}

/* Until the next status is to be shown. Returns whether the user has ended it. */
static bool pause_until_next(struct watch *watch)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + watch->live.context->interval_ns, now;

	while ((now = clock_ns(CLOCK_MONOTONIC)) < end || watch->live.paused) {
		enum live_event event =
			live_wait(&watch->live, NULL, watch->live.paused ? 0 : end - now);

		if (event == LIVE_END || (event == LIVE_DRAW && !live_draw(&watch->live)))
			return true;
	}
	return false;
}

static int watch_status(struct context *context, struct json_object *parameters, const char *name)
{
	struct watch watch = { .parameters = parameters, .name = name, .connection = CONNECTION_NONE,
			       .live = { .context = context, .print = print, .userdata = &watch } };
	bool last = false;
	int code = request_connect(context, &watch.connection);

	live_begin(&watch.live, !context->json);
	while (code == EXIT_DONE && !last) {
		code = show_next(&watch, &last);
		if (code == EXIT_DONE && !last)
			last = pause_until_next(&watch);
	}
	live_end(&watch.live);
	connection_close(&watch.connection);
	return code;
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *reply = NULL;
	int code;

	take_name(parameters, argc, argv);
	if (context->interval_ns)
		return watch_status(context, parameters, argc ? argv[0] : NULL);
	code = request(context, "Status", parameters, &reply);
	if (code != EXIT_DONE)
		return code;
	if (context->json)
		print_json(reply);
	else
		print_status(reply, argc, stdout);
	return EXIT_DONE;
}

static const struct option_row own_rows[] = {
	{ .name = "watch",
	  .kind = OPTION_INTERVAL,
	  .value = "TIME",
	  .help = "show it again at this interval [1s], until Ctrl-C" },
};
static const struct option_group own_options = OPTION_GROUP("Live", own_rows);
static const struct option_group *const options[] = { &own_options, NULL };

const struct verb verb_status = {
	.name = "status",
	.run = run,
	.group = VERBS_SESSIONS,
	.synopsis = "[NAME] [--watch[=TIME]]",
	.summary = "show what sessions wrote, lost and cost",
	.options = options,
	.arguments_max = 1,
};

// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "command_line/options.h"
#include "output/json.h"
#include "output/sessions.h"
#include "output/text.h"
#include "request/request.h"
#include "units.h"
#include "verbs/interrupt.h"

static void print_bpf(struct json_object *bpf)
{
	const char *reason = text_of(bpf, "reason", NULL);
	char runs[32];

	if (member_of(bpf, "ns_per_s"))
		printf(", BPF programs %.2f %% (%s runs a second of %lluns)",
		       (double)number_of(bpf, "ns_per_s") / 1e7,
		       format_count(runs, sizeof(runs), number_of(bpf, "runs_per_s")),
		       (unsigned long long)number_of(bpf, "ns_per_run"));
	else if (reason)
		printf(", BPF programs unknown: %s", reason);
}

static void print_daemon(struct json_object *reply)
{
	struct json_object *cost = member_of(reply, "cost");
	char uptime[32], cpu[32];

	printf("iotracerd %s, process %llu, up %s\n", text_of(reply, "version", "?"),
	       (unsigned long long)number_of(reply, "pid"),
	       iotr_format_duration(uptime, sizeof(uptime),
				    number_of(reply, "uptime") * 1000000000));
	if (!cost)
		return;
	printf("cost of a CPU: daemon %.2f %% (%s so far)",
	       (double)number_of(cost, "cpu_ns_per_s") / 1e7,
	       iotr_format_duration(cpu, sizeof(cpu), number_of(cost, "cpu_ns")));
	print_bpf(member_of(cost, "bpf"));
	putchar('\n');
}

static void print_status(struct json_object *reply, bool of_one)
{
	struct json_object *sessions = member_of(reply, "sessions");

	if (!of_one)
		print_daemon(reply);
	if (!count_of(sessions))
		puts("No session is running.");
	for (size_t i = 0; i < count_of(sessions); i++) {
		if (i || !of_one)
			putchar('\n');
		print_session(json_object_array_get_idx(sessions, i), stdout);
	}
}

struct watch {
	struct context *context;
	struct json_object *parameters;
	struct connection connection;
	const char *name; /* of the session that is watched, or NULL: all sessions */
	bool drawn;	  /* something was shown before */
};

/* Whether the one session that is watched has ended. */
static bool has_ended(const struct watch *watch, struct json_object *reply)
{
	struct json_object *sessions = member_of(reply, "sessions");

	return watch->name && count_of(sessions) &&
	       !strcmp(text_of(json_object_array_get_idx(sessions, 0), "state", ""), "ended");
}

static void draw(struct watch *watch, struct json_object *reply)
{
	watch->drawn = true;
	if (watch->context->json) {
		print_json(reply);
		return;
	}
	picture_next();
	print_status(reply, watch->name);
}

/* Whether the error is that a session shown before does not exist any more: somebody stopped it. */
static bool was_stopped(const struct watch *watch, struct json_object *message)
{
	const char *error = request_error(message);

	return watch->drawn && error && !strcmp(error, IOTR_NO_SUCH_SESSION);
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
		if (!watch->context->json)
			printf("%s: stopped\n", watch->name);
		*last = true;
		return EXIT_DONE;
	}
	code = request_open_reply(watch->context, message, &reply);
	if (code != EXIT_DONE)
		return code;
	draw(watch, reply);
	*last = has_ended(watch, reply) || fflush(stdout) || ferror(stdout);
	return EXIT_DONE;
}

static int watch_status(struct context *context, struct json_object *parameters, const char *name)
{
	struct watch watch = { .context = context, .parameters = parameters, .name = name,
			       .connection = CONNECTION_NONE };
	bool last = false;
	int code = request_connect(context, &watch.connection);

	pictures_begin();
	interrupt_catch();
	while (code == EXIT_DONE && !last) {
		code = show_next(&watch, &last);
		if (code == EXIT_DONE && !last)
			interrupt_sleep(context->interval_ns);
	}
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
		print_status(reply, argc);
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

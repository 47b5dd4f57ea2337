// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "command_line/session_options.h"
#include "output/complain.h"
#include "output/json.h"
#include "output/sessions.h"
#include "output/streams.h"
#include "output/text.h"
#include "request/request.h"
#include "request/unit_names.h"
#include "units.h"
#include "verbs/child.h"
#include "verbs/descendants.h"
#include "verbs/record_snapshots.h"
#include "verbs/settle.h"

/* The command begins after so much time at most, though rows may still lack what hooks tell. */
#define WHOLE_MS	  2000
#define WHOLE_INTERVAL_MS 10

struct recording {
	const struct context *context;
	struct context quiet; /* a copy that prints no JSON, as the only document is printed at the end */
	struct connection connection;
	struct child child;
	struct json_object *session; /* its last status, as far as it is known */
	struct json_object *left;    /* processes of the command that still run, when the session ends; NULL: not looked for */
	bool waits;		     /* for all descendants */
	bool ends_by_itself;	     /* the session has a limit */
	bool daemon_gone;
	struct timespec begin;
	uint64_t elapsed_ns; /* duration of the command, once it has ended */
};

static void recording_done(struct recording *recording)
{
	child_done(&recording->child);
	connection_close(&recording->connection);
	json_object_put(recording->session);
	json_object_put(recording->left);
}

static const char *name_of(const struct recording *recording)
{
	return text_of(recording->session, "name", "?");
}

static int start_session(struct recording *recording, struct json_object *parameters)
{
	_cleanup_json_ struct json_object *reply = NULL;
	struct json_object *pids = json_object_new_array();
	char name[32];
	int code;

	json_object_array_add(pids, json_object_new_int64(recording->child.pid));
	json_object_object_add(parameters, "pids", pids);
	json_object_object_add(parameters, "tree", json_object_new_boolean(true));
	if (!member_of(parameters, "name")) {
		snprintf(name, sizeof(name), "record-%d", (int)recording->child.pid);
		json_object_object_add(parameters, "name", json_object_new_string(name));
	}
	code = request_call(recording->context, &recording->connection, "Start", parameters,
			    &reply);
	if (code == EXIT_DONE)
		recording->session = json_object_get(member_of(reply, "session"));
	unit_names_check(reply);
	complain_warnings(reply);
	return code;
}

static void on_daemon_gone(void *userdata)
{
	struct recording *recording = userdata;

	recording->daemon_gone = true;
	complain("The command goes on; what it does from now on is not recorded.",
		 "the daemon has ended, and session %s with it", name_of(recording));
}

/* If the session is gone although it had no limit, that is a failure. */
static int take_last_status(struct recording *recording, struct json_object *message)
{
	_cleanup_json_ struct json_object *reply = NULL;
	const char *error = request_error(message);
	struct json_object *sessions;
	int code;

	if (error && !strcmp(error, IOTR_NO_SUCH_SESSION)) {
		if (recording->ends_by_itself)
			return EXIT_DONE;
		complain("Its files hold what was recorded until then.",
			 "session %s ended before the command did", name_of(recording));
		return EXIT_FAILED;
	}
	code = request_open_reply(&recording->quiet, message, &reply);
	sessions = member_of(reply, "sessions");
	if (code != EXIT_DONE || !count_of(sessions))
		return code;
	json_object_put(recording->session);
	recording->session = json_object_get(json_object_array_get_idx(sessions, 0));
	return EXIT_DONE;
}

static int stop_session(struct recording *recording)
{
	_cleanup_json_ struct json_object *parameters = json_object_new_object();
	_cleanup_json_ struct json_object *message = NULL;
	int r;

	if (recording->daemon_gone)
		return EXIT_FAILED;
	json_object_object_add(parameters, "name", json_object_new_string(name_of(recording)));
	r = connection_send(&recording->connection, IOTR_INTERFACE ".Stop", parameters, false);
	if (r >= 0)
		r = connection_receive(&recording->connection, &message);
	if (r < 0) {
		request_broken(r);
		return EXIT_FAILED;
	}
	return take_last_status(recording, message);
}

static uint64_t elapsed_ns(const struct recording *recording)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)(now.tv_sec - recording->begin.tv_sec) * 1000000000 +
	       (uint64_t)(now.tv_nsec - recording->begin.tv_nsec);
}

static void summarise(const struct recording *recording, int command_code)
{
	_cleanup_json_ struct json_object *document = NULL;
	char duration[32];

	if (recording->context->json) {
		document = json_object_new_object();
		json_object_object_add(document, "session", json_object_get(recording->session));
		json_object_object_add(document, "exit_code", json_object_new_int(command_code));
		json_object_object_add(document, "still_running",
				       recording->left ? json_object_get(recording->left) : json_object_new_array());
		print_json(document);
		return;
	}
	put_line(stderr, "iotracectl: %s: recorded %s into %s", name_of(recording),
		 iotr_format_duration(duration, sizeof(duration), recording->elapsed_ns),
		 text_of(recording->session, "output", "?"));
	print_session_streams(recording->session, stderr);
}

static bool lacks_something(struct json_object *session)
{
	struct json_object *lacking = member_of(session, "lacking");

	for (size_t i = 0; i < count_of(lacking); i++)
		if (!member_of(json_object_array_get_idx(lacking, i), "to"))
			return true;
	return false;
}

/* Waits until rows are told whole, as a short command would have ended by then. */
static void await_whole(struct recording *recording)
{
	static const struct timespec interval = { .tv_nsec = WHOLE_INTERVAL_MS * 1000000 };

	for (int i = 0; i < WHOLE_MS / WHOLE_INTERVAL_MS && lacks_something(recording->session); i++) {
		_cleanup_json_ struct json_object *parameters = json_object_new_object();
		_cleanup_json_ struct json_object *reply = NULL;
		struct json_object *sessions;

		nanosleep(&interval, NULL);
		json_object_object_add(parameters, "name", json_object_new_string(name_of(recording)));
		if (request_call(&recording->quiet, &recording->connection, "Status", parameters, &reply) != EXIT_DONE)
			return;
		sessions = member_of(reply, "sessions");
		if (!count_of(sessions))
			return;
		json_object_put(recording->session);
		recording->session = json_object_get(json_object_array_get_idx(sessions, 0));
	}
}

/* The command has ended, and the session is about to: what the command started may go on. */
static void end_command(struct recording *recording)
{
	pid_t helper = 0;

	if (!recording->daemon_gone && recording->waits)
		child_wait_descendants(&recording->child, recording->connection.fd);
	recording->elapsed_ns = elapsed_ns(recording);
	if (recording->daemon_gone)
		return;
	if (recording->context->settle_ns)
		helper = settle(&recording->child, recording->context->settle_ns);
	record_snapshots_wait(&recording->connection, name_of(recording), &recording->child);
	recording->left = descendants_list(helper);
}

/* Runs the command in its session. Returns the exit code. */
static int run_command(struct recording *recording, const char *command)
{
	bool partly;
	int r, code, command_code;

	await_whole(recording);
	partly = complain_missing(recording->session);
	clock_gettime(CLOCK_MONOTONIC, &recording->begin);
	r = child_release(&recording->child);
	if (r < 0) {
		complain("The session was stopped.", "cannot run %s: %s", command, strerror(-r));
		stop_session(recording);
		summarise(recording, r == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
		return r == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	}
	command_code =
		child_wait(&recording->child, recording->connection.fd, on_daemon_gone, recording);
	end_command(recording);
	code = stop_session(recording);
	record_snapshots_complain(recording->session);
	descendants_complain(recording->left, "recorded");
	summarise(recording, command_code);
	if (code != EXIT_DONE)
		return EXIT_FAILED;
	return partly && !command_code ? EXIT_PARTLY : command_code;
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_(recording_done) struct recording recording = {
		.context = context,
		.quiet = *context,
		.connection = CONNECTION_NONE,
		.child = CHILD_NONE,
		.waits = member_of(parameters, "wait"),
		.ends_by_itself = member_of(parameters, "duration_ns") ||
				  member_of(parameters, "max_size") ||
				  member_of(parameters, "max_events"),
	};
	int r, code;

	(void)argc;
	recording.quiet.json = false;
	json_object_object_del(parameters, "wait");
	if (!member_of(parameters, "streams"))
		return complain_usage(context, "no stream was given before the command '%s': use --vfs, --block or --all", argv[0]);
	code = request_connect(context, &recording.connection);
	if (code != EXIT_DONE)
		return code;
	r = child_new(argv, &recording.child);
	if (r < 0) {
		complain(NULL, "cannot prepare the command: %s", strerror(-r));
		return EXIT_FAILED;
	}
	code = start_session(&recording, parameters);
	return code == EXIT_DONE ? run_command(&recording, argv[0]) : code;
}

static const struct option_row own_rows[] = {
	{ .name = "name",
	  .kind = OPTION_TEXT,
	  .parameter = "name",
	  .value = "NAME",
	  .help = "name of the session [record-PID]" },
	{ .name = "wait",
	  .kind = OPTION_SWITCH,
	  .parameter = "wait",
	  .help = "when the command has ended, wait until all processes that it started have, too" },
	{ .name = "settle",
	  .kind = OPTION_SETTLE,
	  .value = "TIME",
	  .help = "when the command has ended, wait until what is dirty is written, for 30s or this time at most" },
};
static const struct option_group own_options = OPTION_GROUP("Session", own_rows);
static const struct option_group *const options[] = {
	&stream_options, &own_options, &filter_options, &limit_options, &output_options,
	&snapshot_options, NULL
};

const struct verb verb_record = {
	.name = "record",
	.run = run,
	.group = VERBS_SESSIONS,
	.synopsis = "STREAMS [FILTERS] [LIMITS] [FILES] -- COMMAND [ARGUMENT...]",
	.summary = "record a command and its descendants until it ends",
	.options = options,
	.arguments_min = 1,
	.arguments_max = -1,
	.ends_options_early = true,
};

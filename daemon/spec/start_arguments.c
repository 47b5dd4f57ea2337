// SPDX-License-Identifier: GPL-2.0-or-later
#include "start_arguments.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "filter_arguments.h"
#include "protocol.h"
#include "snapshot_arguments.h"
#include "trigger_text.h"
#include "units.h"

static int parse_name(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *name = NULL;
	int r = argument_session(value, &name, error);

	if (r >= 0)
		strcpy(spec->name, name);
	return r;
}

static int parse_compress(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *name = NULL;
	int r = argument_string(value, &name, error);

	if (r < 0)
		return r;
	spec->compress = !strcmp(name, "gzip");
	return spec->compress || !strcmp(name, "none")
		       ? 0
		       : argument_refuse(error, "'%.64s' is neither gzip nor none", name);
}

static int parse_keep_segments(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	uint64_t count = 0;
	int r = argument_number(value, 1, IOTR_KEEP_SEGMENTS_MAX, &count, error);

	spec->keep_segments = (unsigned int)count;
	return r;
}

static int parse_output(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *path = NULL;
	int r = argument_folder(value, &path, error);

	if (r >= 0)
		strcpy(spec->output, path);
	return r;
}

/* Formats a quantity for people: iotr_format_size() or iotr_format_duration(). */
typedef char *formatter(char *text, size_t size, uint64_t value);

/* A size or duration of at least `least`, or 0 if `or_never` allows it. */
static int parse_least(struct json_object *value, uint64_t least, bool or_never, formatter *format,
		       uint64_t *ret, struct engine_error *error)
{
	char given[32], wanted[32];
	uint64_t number;
	int r = argument_number(value, 0, INT64_MAX, &number, error);

	if (r < 0)
		return r;
	if (number < least && (number || !or_never))
		return argument_refuse(error, "%s is too small: the minimum is %s%s",
				       format(given, sizeof(given), number),
				       format(wanted, sizeof(wanted), least),
				       or_never ? ", or 0 for never" : "");
	*ret = number;
	return 0;
}

static int parse_keep_size(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return parse_least(value, IOTR_KEEP_SIZE_MIN, false, iotr_format_size, &spec->keep_size, error);
}

static int parse_max_size(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return parse_least(value, IOTR_SIZE_MIN, false, iotr_format_size, &spec->max_size, error);
}

static int parse_max_events(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return argument_number(value, 1, INT64_MAX, &spec->max_events, error);
}

static int parse_rotate_size(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return parse_least(value, IOTR_SIZE_MIN, true, iotr_format_size, &spec->rotate_size, error);
}

static int parse_rotate_interval(struct json_object *value, void *target,
				 struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return parse_least(value, IOTR_ROTATE_INTERVAL_MIN_NS, true, iotr_format_duration,
			   &spec->rotate_interval_ns, error);
}

static int parse_format(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *name = NULL;
	int r = argument_string(value, &name, error);

	if (r < 0)
		return r;
	for (int i = 0; i < IOTR_FORMAT_COUNT; i++)
		if (!strcmp(name, iotr_format_names[i])) {
			spec->format = (enum iotr_format)i;
			return 0;
		}
	return argument_refuse(error, "there is no format '%.64s': csv and jsonl exist", name);
}

/* Must come after "anonymize" in the table. */
static int parse_anonymize_host(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	int r = argument_flag(value, &spec->anonymize_host, error);

	spec->anonymize |= spec->anonymize_host;
	return r;
}

static int parse_flight_recorder(struct json_object *value, void *target,
				 struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	int r = argument_number(value, 0, INT64_MAX, &spec->flight_recorder, error);
	char least[32], most[32];

	if (r < 0)
		return r;
	if (spec->flight_recorder < IOTR_FLIGHT_RECORDER_MIN ||
	    spec->flight_recorder > IOTR_FLIGHT_RECORDER_MAX)
		return argument_refuse(error, "the memory of a flight recorder is from %s to %s",
				       iotr_format_size(least, sizeof(least), IOTR_FLIGHT_RECORDER_MIN),
				       iotr_format_size(most, sizeof(most), IOTR_FLIGHT_RECORDER_MAX));
	return 0;
}

static int parse_queue_size(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	char least[32], most[32];
	uint64_t size = 0;
	int r = argument_number(value, 0, INT64_MAX, &size, error);

	if (r < 0)
		return r;
	if (size < IOTR_QUEUE_SIZE_MIN || size > IOTR_QUEUE_SIZE_MAX)
		return argument_refuse(error, "the memory for rows that wait for the disk is from %s to %s",
				       iotr_format_size(least, sizeof(least), IOTR_QUEUE_SIZE_MIN),
				       iotr_format_size(most, sizeof(most), IOTR_QUEUE_SIZE_MAX));
	spec->queue_size = size;
	return 0;
}

/* ---- triggers ---- */

static int add_trigger(struct json_object *value, struct iotr_trigger *triggers, size_t *count, struct engine_error *error)
{
	const char *text = NULL;
	int r = argument_string(value, &text, error);

	if (r < 0)
		return r;
	if (*count == IOTR_TRIGGERS_MAX)
		return argument_refuse(error, "there may be %d of them", IOTR_TRIGGERS_MAX);
	r = trigger_parse(text, &triggers[*count], error);
	*count += r >= 0;
	return r;
}

static int add_start(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return add_trigger(value, spec->triggers, &spec->trigger_count, error);
}

static int add_stop(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return add_trigger(value, spec->stops, &spec->stop_count, error);
}

static int parse_triggers(struct json_object *value, void *target, struct engine_error *error)
{
	return argument_list(value, add_start, target, error);
}

static int parse_stops(struct json_object *value, void *target, struct engine_error *error)
{
	return argument_list(value, add_stop, target, error);
}

static int parse_hold_off(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	char least[32], most[32];
	int r = argument_number(value, 0, INT64_MAX, &spec->hold_off_ns, error);

	if (r < 0)
		return r;
	if (spec->hold_off_ns < IOTR_HOLD_OFF_MIN_NS || spec->hold_off_ns > IOTR_HOLD_OFF_MAX_NS)
		return argument_refuse(error, "the time between two dumps is from %s to %s",
				       iotr_format_duration(least, sizeof(least), IOTR_HOLD_OFF_MIN_NS),
				       iotr_format_duration(most, sizeof(most), IOTR_HOLD_OFF_MAX_NS));
	return 0;
}

/* What a session that waits cannot see, and what has no meaning without a trigger. */
static int triggers_fit(struct iotr_session_spec *spec, struct engine_error *error)
{
	for (size_t i = 0; iotr_spec_waits(spec) && i < spec->trigger_count; i++)
		if (spec->triggers[i].source == IOTR_TRIGGER_LOST)
			return engine_fail(error, -EINVAL, "triggers",
					   "'lost' is for flight recorders, and to stop: a session that waits for its trigger "
					   "loses no rows");
	if (spec->hold_off_ns && (!spec->trigger_count || !spec->flight_recorder))
		return engine_fail(error, -EINVAL, "hold_off_ns",
				   "it is the time between two dumps of a flight recorder with a trigger, and this session is "
				   "none");
	if (spec->trigger_count && spec->flight_recorder && !spec->hold_off_ns)
		spec->hold_off_ns = IOTR_HOLD_OFF_DEFAULT_NS;
	return 0;
}

/* Parameters of a session's files: not allowed for a flight recorder, which writes none. */
#define FILE_ARGUMENTS                                                                          \
	{ .name = "output", .parse = parse_output },                                            \
	{ .name = "max_size", .parse = parse_max_size },                                        \
	{ .name = "max_events", .parse = parse_max_events },                                    \
	{ .name = "rotate_size", .parse = parse_rotate_size },                                  \
	{ .name = "rotate_interval_ns", .parse = parse_rotate_interval },                       \
	{ .name = "compress", .parse = parse_compress },                                        \
	{ .name = "keep_segments", .parse = parse_keep_segments },                              \
	{ .name = "keep_size", .parse = parse_keep_size },                                      \
	{ .name = "queue_size", .parse = parse_queue_size }

static int refuse_files(struct json_object *parameters, struct engine_error *error)
{
	static const struct argument rows[] = { FILE_ARGUMENTS, { .name = NULL } };
	struct json_object *value;

	for (const struct argument *row = rows; row->name; row++) {
		if (!json_object_object_get_ex(parameters, row->name, &value) || !value)
			continue;
		snprintf(error->parameter, sizeof(error->parameter), "%s", row->name);
		return argument_refuse(error, "a flight recorder writes no files until it is dumped: "
					      "this parameter does not apply to it");
	}
	return 0;
}

/* Streams come before operations, whose parser needs them. */
static const struct argument start_arguments[] = {
	{ .name = "name", .parse = parse_name },
	STREAMS_ARGUMENT,
	FILTER_ARGUMENTS
	{ .name = "duration_ns", .parse = argument_count, .offset = SPEC_OFFSET(duration_ns) },
	FILE_ARGUMENTS,
	{ .name = "format", .parse = parse_format },
	{ .name = "anonymize", .parse = argument_flag, .offset = SPEC_OFFSET(anonymize) },
	{ .name = "anonymize_host", .parse = parse_anonymize_host },
	{ .name = "flight_recorder", .parse = parse_flight_recorder },
	{ .name = "triggers", .parse = parse_triggers },
	{ .name = "stop_on", .parse = parse_stops },
	{ .name = "hold_off_ns", .parse = parse_hold_off },
	{ .name = "snapshots", .parse = snapshot_arguments_all },
	{ .name = "snapshot_system", .parse = snapshot_arguments_system },
	{ .name = "snapshot_process_ns", .parse = snapshot_arguments_process },
	{ .name = "snapshot_filesystem_ns", .parse = snapshot_arguments_filesystem },
	{ .name = "snapshot_root", .parse = snapshot_arguments_root },
	{ .name = "snapshot_depth", .parse = snapshot_arguments_depth },
	{ .name = NULL },
};

const char *start_arguments_name(size_t number)
{
	return start_arguments[number].name;
}

int start_arguments_read(struct json_object *parameters, struct iotr_session_spec *spec,
			 struct engine_error *error)
{
	int r;

	*spec = (struct iotr_session_spec){
		.name = IOTR_SESSION_NAME,
		.rotate_size = IOTR_ROTATE_SIZE_DEFAULT,
		.rotate_interval_ns = IOTR_ROTATE_INTERVAL_DEFAULT,
		.compress = true,
	};
	r = arguments_read(parameters, start_arguments, spec, error);
	if (r >= 0)
		r = filter_arguments_fit(spec, error);
	if (r >= 0)
		r = triggers_fit(spec, error);
	return r >= 0 && spec->flight_recorder ? refuse_files(parameters, error) : r;
}

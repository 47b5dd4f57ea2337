// SPDX-License-Identifier: GPL-2.0-or-later
/* Each parameter of Start is told of in the note of its session, and read from there as it was. */
#include "spec/definition.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "spec/start_arguments.h"
#include "suite.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define PLAIN	      "\"streams\":[\"vfs\",\"block\"]"

/* Of the filters, flags and numbers have their values from here; the others have rows of their own. */
#define NUMBERS(name)
#define TEXTS(name)
#define DEVICES(name)
#define OPERATIONS(name)
#define SAMPLE(name)
#define FLAG(name)  { #name, "true", PLAIN ",\"pids\":[1]" }, /* tree needs pids */
#define COUNT(name) { #name, "9223372036854775807", PLAIN },
#define FILTER(id, name, kind, ...) kind(name)

/* For each parameter a value other than its default, and other parameters that it needs. */
static const struct {
	const char *name, *value, *others;
} samples[] = {
	IOTR_FILTERS(FILTER)
	{ "name", "\"other\"", PLAIN },
	{ "streams", "[\"net\"]", NULL },
	{ "pids", "[1,4711]", PLAIN },
	{ "commands", "[\"fifteen-bytes-a\",\"a,\\\"b\"]", PLAIN },
	{ "uids", "[0,4294967294]", PLAIN },
	{ "cgroups", "[\"/a.slice/b\"]", PLAIN },
	{ "units", "[\"db.service\"]", PLAIN },
	{ "devices", "[\"8:17\",\"4095:1048575\"]", PLAIN },
	{ "paths", "[\"/\",\"/a b\"]", PLAIN },
	{ "operations", "[\"READ\",\"block.DISCARD\"]", PLAIN },
	{ "sample", "{\"vfs\":1000000000,\"block\":2}", PLAIN },
	{ "duration_ns", "1", PLAIN },
	{ "output", "\"/tmp/x\"", PLAIN },
	{ "max_size", "65536", PLAIN },
	{ "max_events", "1", PLAIN },
	{ "rotate_size", "0", PLAIN },
	{ "rotate_interval_ns", "0", PLAIN },
	{ "compress", "\"none\"", PLAIN },
	{ "keep_segments", "1", PLAIN },
	{ "keep_size", "1048576", PLAIN },
	{ "queue_size", "268435456", PLAIN },
	{ "format", "\"jsonl\"", PLAIN },
	{ "anonymize", "true", PLAIN },
	{ "anonymize_host", "true", PLAIN },
	{ "flight_recorder", NULL, NULL }, /* such a session does not go on */
	{ "triggers", "[\"vfs.FSYNC p99 > 50ms for 10s\",\"unit a.service failed\"]", PLAIN },
	{ "stop_on", "[\"lost > 100/s\"]", PLAIN },
	{ "hold_off_ns", NULL, NULL }, /* of flight recorders */
	{ "snapshots", "false", PLAIN },
	{ "snapshot_system", "false", PLAIN },
	{ "snapshot_process_ns", "1000000000", PLAIN },
	{ "snapshot_filesystem_ns", "0", PLAIN },
	{ "snapshot_root", "\"/srv\"", PLAIN },
	{ "snapshot_depth", "65535", PLAIN },
};

/* What is not given becomes what the daemon is configured to do, as when a session starts. */
static void resolve(struct iotr_snapshots *snapshots)
{
	if (!(snapshots->given & IOTR_SNAPSHOTS_SYSTEM))
		snapshots->system = true;
	if (!(snapshots->given & IOTR_SNAPSHOTS_PROCESS))
		snapshots->process_ns = 2000000000;
	if (!(snapshots->given & IOTR_SNAPSHOTS_FILESYSTEM))
		snapshots->filesystem_ns = 3000000000;
	if (!(snapshots->given & IOTR_SNAPSHOTS_ROOT))
		strcpy(snapshots->root, "/");
	if (!(snapshots->given & IOTR_SNAPSHOTS_DEPTH))
		snapshots->depth = 3;
}

/* The note of the session that these parameters begin. */
static struct json_object *note_of(struct json_object *parameters)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec;
	struct engine_error error = { 0 };

	ck_assert_msg(start_arguments_read(parameters, &spec, &error) >= 0, "%s: %s in %s", error.parameter,
		      error.message, json_object_to_json_string(parameters));
	resolve(&spec.snapshots);
	return definition_note(&spec);
}

static struct json_object *note_of_text(const char *name, const char *value, const char *others)
{
	_cleanup_json_ struct json_object *parameters = NULL;
	char text[512];

	snprintf(text, sizeof(text), "{%s%s\"%s\":%s}", others ?: "", others ? "," : "", name, value);
	parameters = json_tokener_parse(text);
	ck_assert_msg(parameters != NULL, "%s is no JSON", text);
	return note_of(parameters);
}

START_TEST(all_are_known)
{
	size_t number = 0;

	for (const char *name; (name = start_arguments_name(number)); number++) {
		bool known = false;

		for (size_t i = 0; i < LENGTH(samples); i++)
			known |= !strcmp(samples[i].name, name);
		ck_assert_msg(known, "'%s' may be lost when a session goes on: give it a value above", name);
	}
	ck_assert_uint_eq(number, LENGTH(samples));
}
END_TEST

START_TEST(goes_on_as_it_was)
{
	const char *name = samples[_i].name, *value = samples[_i].value, *others = samples[_i].others;
	_cleanup_json_ struct json_object *note = NULL, *without = NULL, *parameters = NULL, *again = NULL;

	if (!value)
		return;
	note = note_of_text(name, value, others);
	without = note_of_text("streams", "[\"vfs\",\"block\"]", others);
	ck_assert_msg(!json_object_equal(note, without), "the note does not tell %s", name);
	ck_assert_int_eq(json_object_deep_copy(note, &parameters, NULL), 0);
	definition_flatten(parameters);
	again = note_of(parameters);
	ck_assert_msg(json_object_equal(note, again), "%s: %s became %s", name,
		      json_object_to_json_string(note), json_object_to_json_string(again));
}
END_TEST

/* A damaged note is refused like any parameters that cannot be. */
START_TEST(survives_damage)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec;
	_cleanup_json_ struct json_object *note =
		json_tokener_parse("{\"streams\":[\"vfs\"],\"filters\":\"x\"}");
	struct engine_error error = { 0 };

	definition_flatten(note);
	ck_assert_int_lt(start_arguments_read(note, &spec, &error), 0);
	ck_assert_str_eq(error.parameter, "filters");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, all_are_known);
	tcase_add_loop_test(tests, goes_on_as_it_was, 0, LENGTH(samples));
	tcase_add_test(tests, survives_damage);
}

int main(void)
{
	return run_suite("definition", add);
}

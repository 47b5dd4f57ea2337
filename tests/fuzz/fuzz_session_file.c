// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * NAME.session of any bytes: a sentence about what is wrong, or a definition, which stays the same when it is noted and
 * read again, as it is when the daemon goes on after a restart.
 */
#include "cleanup.h"
#include "config/session_file.h"
#include "fuzz.h"
#include "input_file.h"
#include "schedule.h"
#include "spec/definition.h"
#include "spec/start_arguments.h"

static size_t findings, files, usable;

static void critic(enum config_finding finding, const char *sentence, void *userdata)
{
	(void)userdata;
	ck_assert(finding <= CONFIG_REFUSED && *sentence);
	findings++;
}

static void note_and_read_again(struct iotr_session_spec *spec)
{
	_cleanup_json_ struct json_object *note = NULL, *again = NULL, *parameters = NULL;
	struct iotr_session_spec copy;
	struct engine_error error = { 0 };

	schedule_resolve(&spec->snapshots, NULL); /* as every session that starts */
	note = definition_note(spec);
	json_object_object_del(note, "declared"); /* no parameter: what the file said, to be compared with */
	ck_assert_int_eq(json_object_deep_copy(note, &parameters, NULL), 0);
	definition_flatten(parameters);
	ck_assert_msg(start_arguments_read(parameters, &copy, &error) >= 0, "%s: %s", error.parameter, error.message);
	again = definition_note(&copy);
	ck_assert_msg(json_object_equal(note, again), "%s", json_object_to_json_string(note));
	iotr_session_spec_done(&copy);
}

static void on_file(const char *name, struct iotr_session_spec *spec, void *userdata)
{
	(void)userdata;
	ck_assert_str_eq(name, "input");
	files++;
	if (!spec)
		return;
	usable++;
	if (!spec->flight_recorder) /* a flight recorder is not gone on with: its rows are lost */
		note_and_read_again(spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	findings = files = usable = 0;
	input_put("input.session", data, size);
	ck_assert(session_files_read(input_folder()->path, critic, on_file, NULL));
	ck_assert_uint_eq(files, 1);
	ck_assert(usable ? !findings : findings);
	return 0;
}

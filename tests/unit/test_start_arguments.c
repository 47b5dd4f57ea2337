// SPDX-License-Identifier: GPL-2.0-or-later
#include "spec/start_arguments.h"

#include <string.h>

#include "cleanup.h"
#include "events.h"
#include "suite.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

static int read_text(const char *text, struct iotr_session_spec *spec, struct engine_error *error)
{
	_cleanup_json_ struct json_object *parameters = json_tokener_parse(text);

	memset(error, 0, sizeof(*error));
	ck_assert_msg(parameters != NULL, "%.100s is no JSON", text);
	return start_arguments_read(parameters, spec, error);
}

#define NAME_64 "a23456789.123456789_123456789-123456789.123456789.123456789.1234"

/* Parameters that are refused, and the name of the one that is wrong. */
static const struct {
	const char *text;
	const char *parameter;
} bad[] = {
	{ "{}", "streams" },
	{ "{\"streams\":null}", "streams" },
	{ "{\"streams\":[]}", "streams" },
	{ "{\"streams\":\"vfs\"}", "streams" },
	{ "{\"streams\":{\"vfs\":true}}", "streams" },
	{ "{\"streams\":[\"zfs\"]}", "streams" },
	{ "{\"streams\":[\"VFS\"]}", "streams" },
	{ "{\"streams\":[\"\"]}", "streams" },
	{ "{\"streams\":[1]}", "streams" },
	{ "{\"streams\":[null]}", "streams" },
	{ "{\"streams\":[\"vfs\\u0000\"]}", "streams" },
	{ "{\"streams\":[\"vfs\"],\"stream\":1}", "stream" },
	{ "{\"streams\":[\"vfs\"],\"\":1}", "" },
	{ "{\"streams\":[\"vfs\"],\"name\":\"\"}", "name" },
	{ "{\"streams\":[\"vfs\"],\"name\":7}", "name" },
	{ "{\"streams\":[\"vfs\"],\"name\":\"a/b\"}", "name" },
	{ "{\"streams\":[\"vfs\"],\"name\":\"..\"}", "name" },
	{ "{\"streams\":[\"vfs\"],\"name\":\".a\"}", "name" },
	{ "{\"streams\":[\"vfs\"],\"name\":\"-a\"}", "name" },
	{ "{\"streams\":[\"vfs\"],\"name\":\"a b\"}", "name" },
	{ "{\"streams\":[\"vfs\"],\"name\":\"a\\n\"}", "name" },
	{ "{\"streams\":[\"vfs\"],\"name\":\"a\\u0000b\"}", "name" },
	{ "{\"streams\":[\"vfs\"],\"name\":\"\xc3\xa4\"}", "name" },
	{ "{\"streams\":[\"vfs\"],\"name\":\"" NAME_64 "5\"}", "name" },
	{ "{\"streams\":[\"vfs\"],\"pids\":[0]}", "pids" },
	{ "{\"streams\":[\"vfs\"],\"pids\":[-1]}", "pids" },
	{ "{\"streams\":[\"vfs\"],\"pids\":[4194305]}", "pids" },
	{ "{\"streams\":[\"vfs\"],\"pids\":[18446744073709551617]}", "pids" },
	{ "{\"streams\":[\"vfs\"],\"pids\":[1.5]}", "pids" },
	{ "{\"streams\":[\"vfs\"],\"pids\":[\"1\"]}", "pids" },
	{ "{\"streams\":[\"vfs\"],\"pids\":[[1]]}", "pids" },
	{ "{\"streams\":[\"vfs\"],\"pids\":[]}", "pids" },
	{ "{\"streams\":[\"vfs\"],\"pids\":1}", "pids" },
	{ "{\"streams\":[\"vfs\"],\"tree\":true}", "tree" },
	{ "{\"streams\":[\"vfs\"],\"pids\":[1],\"tree\":1}", "tree" },
	{ "{\"streams\":[\"vfs\"],\"commands\":[\"\"]}", "commands" },
	{ "{\"streams\":[\"vfs\"],\"commands\":[\"sixteen-bytes-no\"]}", "commands" },
	{ "{\"streams\":[\"vfs\"],\"commands\":[\"a\\u0000b\"]}", "commands" },
	{ "{\"streams\":[\"vfs\"],\"commands\":[7]}", "commands" },
	{ "{\"streams\":[\"vfs\"],\"uids\":[\"no such user\"]}", "uids" },
	{ "{\"streams\":[\"vfs\"],\"uids\":[\"\"]}", "uids" },
	{ "{\"streams\":[\"vfs\"],\"uids\":[-1]}", "uids" },
	{ "{\"streams\":[\"vfs\"],\"uids\":[4294967295]}", "uids" },
	{ "{\"streams\":[\"vfs\"],\"uids\":[true]}", "uids" },
	{ "{\"streams\":[\"vfs\"],\"devices\":[\"\"]}", "devices" },
	{ "{\"streams\":[\"vfs\"],\"devices\":[\"8\"]}", "devices" },
	{ "{\"streams\":[\"vfs\"],\"devices\":[\"8:\"]}", "devices" },
	{ "{\"streams\":[\"vfs\"],\"devices\":[\":1\"]}", "devices" },
	{ "{\"streams\":[\"vfs\"],\"devices\":[\"8:1:2\"]}", "devices" },
	{ "{\"streams\":[\"vfs\"],\"devices\":[\"4096:0\"]}", "devices" },
	{ "{\"streams\":[\"vfs\"],\"devices\":[\"8:1048576\"]}", "devices" },
	{ "{\"streams\":[\"vfs\"],\"devices\":[\"00000000000000000008:1\"]}", "devices" },
	{ "{\"streams\":[\"vfs\"],\"devices\":[\"/dev/no-such-disk\"]}", "devices" },
	{ "{\"streams\":[\"vfs\"],\"devices\":[\"/dev/null\"]}", "devices" },
	{ "{\"streams\":[\"vfs\"],\"devices\":[\"/\"]}", "devices" },
	{ "{\"streams\":[\"vfs\"],\"devices\":[\"sda\"]}", "devices" },
	{ "{\"streams\":[\"vfs\"],\"devices\":[8]}", "devices" },
	{ "{\"streams\":[\"vfs\"],\"operations\":[\"FLY\"]}", "operations" },
	{ "{\"streams\":[\"vfs\"],\"operations\":[\"DISCARD\"]}", "operations" },
	{ "{\"streams\":[\"vfs\"],\"operations\":[\"block.READ\"]}", "operations" },
	{ "{\"streams\":[\"vfs\"],\"operations\":[\"zfs.READ\"]}", "operations" },
	{ "{\"streams\":[\"vfs\"],\"operations\":[\"vfs.\"]}", "operations" },
	{ "{\"streams\":[\"vfs\"],\"operations\":[\".READ\"]}", "operations" },
	{ "{\"streams\":[\"vfs\"],\"operations\":[\"vfs.vfs.READ\"]}", "operations" },
	{ "{\"streams\":[\"vfs\"],\"operations\":[\"\"]}", "operations" },
	{ "{\"streams\":[\"vfs\"],\"min_latency_ns\":-1}", "min_latency_ns" },
	{ "{\"streams\":[\"vfs\"],\"min_latency_ns\":1.0}", "min_latency_ns" },
	{ "{\"streams\":[\"vfs\"],\"min_latency_ns\":\"5ms\"}", "min_latency_ns" },
	{ "{\"streams\":[\"vfs\"],\"min_size\":9223372036854775808}", "min_size" },
	{ "{\"streams\":[\"vfs\"],\"min_size\":99999999999999999999999}", "min_size" },
	{ "{\"streams\":[\"vfs\"],\"errors\":\"yes\"}", "errors" },
	{ "{\"streams\":[\"vfs\"],\"cgroups\":[]}", "cgroups" },
	{ "{\"streams\":[\"vfs\"],\"cgroups\":\"/a\"}", "cgroups" },
	{ "{\"streams\":[\"vfs\"],\"cgroups\":[\"\"]}", "cgroups" },
	{ "{\"streams\":[\"vfs\"],\"cgroups\":[\"/a/../b\"]}", "cgroups" },
	{ "{\"streams\":[\"vfs\"],\"cgroups\":[\"..\"]}", "cgroups" },
	{ "{\"streams\":[\"vfs\"],\"cgroups\":[\"a/..\"]}", "cgroups" },
	{ "{\"streams\":[\"vfs\"],\"cgroups\":[7]}", "cgroups" },
	{ "{\"streams\":[\"vfs\"],\"units\":[\"\"]}", "units" },
	{ "{\"streams\":[\"vfs\"],\"units\":[\"a/b.service\"]}", "units" },
	{ "{\"streams\":[\"vfs\"],\"units\":[\".service\"]}", "units" },
	{ "{\"streams\":[\"vfs\"],\"units\":[\"a b.service\"]}", "units" },
	{ "{\"streams\":[\"vfs\"],\"units\":[\"a.timer\"]}", "units" },
	{ "{\"streams\":[\"vfs\"],\"units\":[\"a.target\"]}", "units" },
	{ "{\"streams\":[\"vfs\"],\"units\":[true]}", "units" },
	{ "{\"streams\":[\"vfs\"],\"paths\":[]}", "paths" },
	{ "{\"streams\":[\"vfs\"],\"paths\":[\"\"]}", "paths" },
	{ "{\"streams\":[\"vfs\"],\"paths\":[\"here\"]}", "paths" },
	{ "{\"streams\":[\"vfs\"],\"paths\":[\"/a\\u0000b\"]}", "paths" },
	{ "{\"streams\":[\"vfs\"],\"paths\":[{}]}", "paths" },
	{ "{\"streams\":[\"vfs\"],\"sample\":10}", "sample" },
	{ "{\"streams\":[\"vfs\"],\"sample\":[10]}", "sample" },
	{ "{\"streams\":[\"vfs\"],\"sample\":{\"zfs\":2}}", "sample" },
	{ "{\"streams\":[\"vfs\"],\"sample\":{\"\":2}}", "sample" },
	{ "{\"streams\":[\"vfs\"],\"sample\":{\"vfs\":0}}", "sample" },
	{ "{\"streams\":[\"vfs\"],\"sample\":{\"vfs\":-1}}", "sample" },
	{ "{\"streams\":[\"vfs\"],\"sample\":{\"vfs\":1000000001}}", "sample" },
	{ "{\"streams\":[\"vfs\"],\"sample\":{\"vfs\":1.5}}", "sample" },
	{ "{\"streams\":[\"vfs\"],\"sample\":{\"vfs\":\"2\"}}", "sample" },
	{ "{\"streams\":[\"vfs\"],\"sample\":{\"vfs\":null}}", "sample" },
	{ "{\"streams\":[\"vfs\"],\"pseudo_fs\":1}", "pseudo_fs" },
	{ "{\"streams\":[\"vfs\"],\"duration_ns\":[]}", "duration_ns" },
	{ "{\"streams\":[\"vfs\"],\"output\":\"\"}", "output" },
	{ "{\"streams\":[\"vfs\"],\"output\":\"here\"}", "output" },
	{ "{\"streams\":[\"vfs\"],\"output\":\"/a\\u0000b\"}", "output" },
	{ "{\"streams\":[\"vfs\"],\"output\":7}", "output" },
	{ "{\"streams\":[\"vfs\"],\"max_size\":65535}", "max_size" },
	{ "{\"streams\":[\"vfs\"],\"max_size\":0}", "max_size" },
	{ "{\"streams\":[\"vfs\"],\"keep_size\":1048575}", "keep_size" },
	{ "{\"streams\":[\"vfs\"],\"queue_size\":1048575}", "queue_size" },
	{ "{\"streams\":[\"vfs\"],\"queue_size\":268435457}", "queue_size" },
	{ "{\"streams\":[\"vfs\"],\"queue_size\":\"1M\"}", "queue_size" },
	{ "{\"streams\":[\"vfs\"],\"queue_size\":1048576,\"flight_recorder\":1048576}", "queue_size" },
	{ "{\"streams\":[\"vfs\"],\"keep_segments\":0}", "keep_segments" },
	{ "{\"streams\":[\"vfs\"],\"keep_segments\":1000001}", "keep_segments" },
	{ "{\"streams\":[\"vfs\"],\"compress\":\"xz\"}", "compress" },
	{ "{\"streams\":[\"vfs\"],\"compress\":true}", "compress" },
	{ "{\"streams\":[\"vfs\"],\"max_events\":0}", "max_events" },
	{ "{\"streams\":[\"vfs\"],\"max_events\":-1}", "max_events" },
	{ "{\"streams\":[\"vfs\"],\"rotate_size\":65535}", "rotate_size" },
	{ "{\"streams\":[\"vfs\"],\"rotate_size\":\"64K\"}", "rotate_size" },
	{ "{\"streams\":[\"vfs\"],\"rotate_interval_ns\":99999999}", "rotate_interval_ns" },
	{ "{\"streams\":[\"vfs\"],\"format\":\"xml\"}", "format" },
	{ "{\"streams\":[\"vfs\"],\"format\":1}", "format" },
	{ "{\"streams\":[\"vfs\"],\"anonymize\":1}", "anonymize" },
	{ "{\"streams\":[\"vfs\"],\"flight_recorder\":0}", "flight_recorder" },
	{ "{\"streams\":[\"vfs\"],\"flight_recorder\":1048575}", "flight_recorder" },
	{ "{\"streams\":[\"vfs\"],\"flight_recorder\":4294967297}", "flight_recorder" },
	{ "{\"streams\":[\"vfs\"],\"flight_recorder\":\"1M\"}", "flight_recorder" },
	{ "{\"streams\":[\"vfs\"],\"flight_recorder\":1048576,\"output\":\"/x\"}", "output" },
	{ "{\"streams\":[\"vfs\"],\"flight_recorder\":1048576,\"compress\":\"none\"}",
	  "compress" },
	{ "{\"streams\":[\"vfs\"],\"flight_recorder\":1048576,\"rotate_size\":0}", "rotate_size" },
	{ "{\"streams\":[\"vfs\"],\"snapshots\":1}", "snapshots" },
	{ "{\"streams\":[\"vfs\"],\"snapshot_system\":\"on\"}", "snapshot_system" },
	{ "{\"streams\":[\"vfs\"],\"snapshot_process_ns\":999999999}", "snapshot_process_ns" },
	{ "{\"streams\":[\"vfs\"],\"snapshot_process_ns\":-1}", "snapshot_process_ns" },
	{ "{\"streams\":[\"vfs\"],\"snapshot_filesystem_ns\":1}", "snapshot_filesystem_ns" },
	{ "{\"streams\":[\"vfs\"],\"snapshot_filesystem_ns\":\"1h\"}", "snapshot_filesystem_ns" },
	{ "{\"streams\":[\"vfs\"],\"snapshot_root\":\"here\"}", "snapshot_root" },
	{ "{\"streams\":[\"vfs\"],\"snapshot_root\":\"\"}", "snapshot_root" },
	{ "{\"streams\":[\"vfs\"],\"snapshot_depth\":65536}", "snapshot_depth" },
	{ "{\"streams\":[\"vfs\"],\"snapshot_depth\":-1}", "snapshot_depth" },
};

START_TEST(refuses)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec;
	struct engine_error error;

	ck_assert_msg(read_text(bad[_i].text, &spec, &error) < 0, "%s", bad[_i].text);
	ck_assert_msg(!strcmp(error.parameter, bad[_i].parameter), "%s blames '%s'", bad[_i].text,
		      error.parameter);
	ck_assert_str_ne(error.message, "");
}
END_TEST

START_TEST(reads_everything)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec;
	struct engine_error error;
	int r = read_text("{\"name\":\"db-1\",\"streams\":[\"block\",\"vfs\",\"vfs\"],"
			  "\"pids\":[1,4194304],\"tree\":true,"
			  "\"commands\":[\"fifteen-bytes-a\",\"b\"],\"uids\":[0,\"root\",\"4711\"],"
			  "\"devices\":[\"8:17\",\"0:35\"],"
			  "\"operations\":[\"read\",\"vfs.OPEN\",\"DISCARD\"],"
			  "\"min_latency_ns\":5,\"min_size\":9223372036854775807,\"errors\":true,"
			  "\"cgroups\":[\"/a.slice\",\"b..c\"],\"units\":[\"db\",\"x@1.scope\",\"a.b\"],"
			  "\"paths\":[\"/\",\"/a,b\"],\"pseudo_fs\":true,"
			  "\"sample\":{\"vfs\":1000000000,\"block\":1},"
			  "\"duration_ns\":30,\"output\":\"/tmp/x\",\"max_size\":65536,"
			  "\"keep_size\":1048576,\"queue_size\":1048576,\"keep_segments\":3,\"compress\":\"none\","
			  "\"max_events\":1,\"rotate_size\":0,\"rotate_interval_ns\":100000000,"
			  "\"format\":\"jsonl\",\"anonymize\":true,\"snapshots\":false,"
			  "\"snapshot_process_ns\":1000000000,\"snapshot_root\":\"/srv\","
			  "\"snapshot_depth\":65535}",
			  &spec, &error);

	ck_assert_msg(r == 0, "%s: %s", error.parameter, error.message);
	ck_assert_str_eq(spec.name, "db-1");
	ck_assert_uint_eq(spec.streams, 1u << IOTR_VFS | 1u << IOTR_BLOCK);
	ck_assert_uint_eq(spec.pid_count, 2);
	ck_assert_uint_eq(spec.pids[1], 4194304);
	ck_assert(spec.tree && spec.errors && spec.anonymize);
	ck_assert_uint_eq(spec.command_count, 2);
	ck_assert_str_eq(spec.commands[0], "fifteen-bytes-a");
	ck_assert_uint_eq(spec.uid_count, 3);
	ck_assert_uint_eq(spec.uids[1], 0);
	ck_assert_uint_eq(spec.uids[2], 4711);
	ck_assert_uint_eq(spec.device_count, 2);
	ck_assert_uint_eq(spec.devices[0], 8 << 20 | 17);
	ck_assert_uint_eq(spec.operations[IOTR_VFS].bits[0], 1u << IOTR_VFS_READ | 1u << IOTR_VFS_OPEN);
	ck_assert_uint_eq(spec.operations[IOTR_BLOCK].bits[0],
			  1u << IOTR_BLOCK_READ | 1u << IOTR_BLOCK_DISCARD);
	ck_assert_uint_eq(spec.min_latency_ns, 5);
	ck_assert_uint_eq(spec.min_size, INT64_MAX);
	ck_assert_uint_eq(spec.cgroup_count, 2);
	ck_assert_str_eq(spec.cgroups[1], "b..c");
	ck_assert_uint_eq(spec.unit_count, 3);
	ck_assert_str_eq(spec.units[0], "db.service");
	ck_assert_str_eq(spec.units[1], "x@1.scope");
	ck_assert_str_eq(spec.units[2], "a.b.service");
	ck_assert_uint_eq(spec.path_count, 2);
	ck_assert_str_eq(spec.paths[1], "/a,b");
	ck_assert(spec.pseudo_fs);
	ck_assert_uint_eq(spec.sample[IOTR_VFS], IOTR_SAMPLE_MAX);
	ck_assert_uint_eq(spec.sample[IOTR_BLOCK], 1);
	ck_assert_uint_eq(spec.sample[IOTR_CACHE], 0);
	ck_assert_uint_eq(spec.duration_ns, 30);
	ck_assert_str_eq(spec.output, "/tmp/x");
	ck_assert_uint_eq(spec.max_size, 65536);
	ck_assert_uint_eq(spec.keep_size, 1048576);
	ck_assert_uint_eq(spec.queue_size, 1048576);
	ck_assert_uint_eq(spec.keep_segments, 3);
	ck_assert(!spec.compress);
	ck_assert_uint_eq(spec.max_events, 1);
	ck_assert_uint_eq(spec.rotate_size, 0);
	ck_assert_uint_eq(spec.rotate_interval_ns, 100000000);
	ck_assert_int_eq(spec.format, IOTR_FORMAT_JSONL);
	ck_assert_uint_eq(spec.snapshots.given, 31);
	ck_assert(!spec.snapshots.system);
	ck_assert_uint_eq(spec.snapshots.process_ns, 1000000000);
	ck_assert_uint_eq(spec.snapshots.filesystem_ns, 0);
	ck_assert_str_eq(spec.snapshots.root, "/srv");
	ck_assert_uint_eq(spec.snapshots.depth, 65535);
}
END_TEST

START_TEST(knows_defaults)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec;
	struct engine_error error;

	ck_assert_int_eq(
		read_text("{\"streams\":[\"vfs\"],\"name\":null,\"pids\":null}", &spec, &error), 0);
	ck_assert_str_eq(spec.name, "default");
	ck_assert_uint_eq(spec.max_size + spec.max_events, 0);
	ck_assert_uint_eq(spec.keep_size + spec.keep_segments + spec.queue_size, 0);
	ck_assert(spec.compress);
	ck_assert_uint_eq(spec.rotate_size, 128 << 20);
	ck_assert_uint_eq(spec.rotate_interval_ns, 86400000000000);
	ck_assert_int_eq(spec.format, IOTR_FORMAT_CSV);
	ck_assert_uint_eq(spec.pid_count, 0);
	ck_assert_uint_eq(spec.operations[IOTR_VFS].bits[0], 0);
	ck_assert_str_eq(spec.output, "");
	ck_assert_uint_eq(spec.snapshots.given, 0);
}
END_TEST

START_TEST(null_is_absent)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec;
	struct engine_error error;

	ck_assert_int_eq(read_text("{\"streams\":[\"vfs\"],\"flight_recorder\":1048576,\"output\":null,"
				   "\"tree\":null,\"keep_size\":null}", &spec, &error), 0);
	ck_assert_uint_eq(spec.flight_recorder, 1048576);
}
END_TEST

START_TEST(takes_the_longest_name)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec;
	struct engine_error error;

	ck_assert_uint_eq(strlen(NAME_64), IOTR_SESSION_NAME_MAX);
	ck_assert_int_eq(
		read_text("{\"streams\":[\"vfs\"],\"name\":\"" NAME_64 "\"}", &spec, &error), 0);
	ck_assert_str_eq(spec.name, NAME_64);
}
END_TEST

/* {"streams":["vfs"],"pids":[1,1,...]} */
static int read_pids(size_t count, struct engine_error *error)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec;
	_cleanup_json_ struct json_object *parameters =
		json_tokener_parse("{\"streams\":[\"vfs\"],\"pids\":[]}");
	struct json_object *pids = json_object_object_get(parameters, "pids");

	memset(error, 0, sizeof(*error));
	for (size_t i = 0; i < count; i++)
		json_object_array_add(pids, json_object_new_int(1));
	return start_arguments_read(parameters, &spec, error);
}

START_TEST(bounds_lists)
{
	struct engine_error error;

	ck_assert_int_eq(read_pids(IOTR_FILTER_VALUES_MAX, &error), 0);
	ck_assert_int_lt(read_pids(IOTR_FILTER_VALUES_MAX + 1, &error), 0);
	ck_assert_str_eq(error.parameter, "pids");
}
END_TEST

static int read_long(const char *name, size_t length, struct engine_error *error)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec;
	_cleanup_json_ struct json_object *parameters =
		json_tokener_parse("{\"streams\":[\"vfs\"]}");
	_cleanup_free_ char *text = malloc(length);

	memset(error, 0, sizeof(*error));
	memset(text, 'a', length);
	text[0] = '/';
	json_object_object_add(parameters, name, json_object_new_string_len(text, (int)length));
	return start_arguments_read(parameters, &spec, error);
}

/* {"streams":["vfs"],NAME:["/aaa..."]} */
static int read_long_item(const char *name, size_t length, struct engine_error *error)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec;
	_cleanup_json_ struct json_object *parameters = json_tokener_parse("{\"streams\":[\"vfs\"]}");
	struct json_object *list = json_object_new_array();
	_cleanup_free_ char *text = malloc(length);

	memset(error, 0, sizeof(*error));
	memset(text, 'a', length);
	if (strcmp(name, "units"))
		text[0] = '/';
	json_object_array_add(list, json_object_new_string_len(text, (int)length));
	json_object_object_add(parameters, name, list);
	return start_arguments_read(parameters, &spec, error);
}

START_TEST(bounds_filters)
{
	struct engine_error error;

	ck_assert_int_eq(read_long_item("paths", PATH_MAX - 1, &error), 0);
	ck_assert_int_lt(read_long_item("paths", PATH_MAX, &error), 0);
	ck_assert_int_eq(read_long_item("cgroups", PATH_MAX - 1, &error), 0);
	ck_assert_int_lt(read_long_item("cgroups", PATH_MAX, &error), 0);
	ck_assert_int_eq(read_long_item("units", IOTR_UNIT_MAX - strlen(".service"), &error), 0);
	ck_assert_int_lt(read_long_item("units", IOTR_UNIT_MAX - strlen(".service") + 1, &error), 0);
	ck_assert_str_eq(error.parameter, "units");
}
END_TEST

START_TEST(bounds_paths)
{
	struct engine_error error;

	ck_assert_int_eq(read_long("output", PATH_MAX - 1, &error), 0);
	ck_assert_int_lt(read_long("output", PATH_MAX, &error), 0);
	ck_assert_str_eq(error.parameter, "output");
	ck_assert_int_lt(read_long("output", 1000000, &error), 0);
	ck_assert_int_eq(read_long("snapshot_root", PATH_MAX - 1, &error), 0);
	ck_assert_int_lt(read_long("snapshot_root", PATH_MAX, &error), 0);
	ck_assert_int_lt(read_long("name", 300, &error), 0);
	ck_assert_str_eq(error.parameter, "name");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, refuses, 0, LENGTH(bad));
	tcase_add_test(tests, reads_everything);
	tcase_add_test(tests, knows_defaults);
	tcase_add_test(tests, null_is_absent);
	tcase_add_test(tests, takes_the_longest_name);
	tcase_add_test(tests, bounds_lists);
	tcase_add_test(tests, bounds_paths);
	tcase_add_test(tests, bounds_filters);
}

int main(void)
{
	return run_suite("start_arguments", add);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "anonymize_manifest.h"

#include <string.h>

#include "cleanup.h"
#include "suite.h"

static const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE] = { 7 };
static struct iotr_anonymizer *anonymizer;

static void setup(void)
{
	ck_assert_int_eq(iotr_anonymizer_new(key, &anonymizer), 0);
}

static void teardown(void)
{
	iotr_anonymizer_free(anonymizer);
}

static const char manifest[] =
	"{'schema_version': 1, 'iotracer_version': '0.1.0', 'session': 'secret', 'level': 'function', 'format': 'csv',"
	" 'host': {'name': 'secret', 'kernel': '6.1', 'kernel_version': '#1', 'machine': 'x86_64'},"
	" 'started': '2026', 'definition': {'name': 'secret', 'streams': ['vfs'], 'filters': {"
	" 'pids': [17], 'tree': true, 'commands': ['secret', 'a,\\u0001secret'], 'units': ['secret.service'],"
	" 'paths': ['/data/secret.db'], 'cgroups': [{'path': '/secret/x', 'id': 5}], 'devices': ['8:1'],"
	" 'operations': ['vfs.READ'], 'novelty': 'secret'}, 'duration_ns': 5, 'output': '/secret',"
	" 'format': 'csv', 'dump': {'from': '2025', 'to': '2026', 'novelty': 'secret'},"
	" 'other': {'deep': [['secret'], null]}},"
	" 'changes': [{'time': '2026', 'mono_ns': 7, 'novelty': 'secret', 'definition': {'name': 'secret',"
	" 'streams': ['vfs'], 'filters': {'paths': ['/data/secret.db'], 'devices': ['8:1']}}}],"
	" 'hooks': {'vfs': [{'name': 'READ', 'hook': 'fentry'}]}, 'streams': {'vfs': {'folder': 'fs'}},"
	" 'segments': [{'path': 'fs/fs_000001.csv', 'state': 'closed'}], 'gaps': [{'reason': 'crash'}],"
	" 'disk_errors': [{'from': '2026', 'error': 'No space left on device'}],"
	" 'snapshots': [{'kind': 'process', 'path': 'process/x.csv', 'message': '/secret hangs', 'rows': 3}],"
	" 'clock': {'start': {}}, 'state': 'ended', 'reason': 'stopped', 'ended': '2027', 'novelty': 'secret',"
	" 'levels': 'secret'}";

static struct json_object *parse(const char *text)
{
	struct json_object *object;
	char *copy = strdup(text);

	for (char *at = copy; (at = strchr(at, '\'')); at++)
		*at = '"';
	object = json_tokener_parse(copy);
	ck_assert_msg(object, "%s", copy);
	free(copy);
	return object;
}

/* "definition.filters.commands.0" as text. */
static const char *at(struct json_object *object, const char *path)
{
	char copy[128], *rest = copy, *part;

	snprintf(copy, sizeof(copy), "%s", path);
	while ((part = strsep(&rest, ".")))
		object = json_object_is_type(object, json_type_array) ?
				 json_object_array_get_idx(object, (size_t)atoi(part)) :
				 json_object_object_get(object, part);
	return json_object_get_string(object) ?: "null";
}

static const char *hash(enum iotr_privacy privacy, const char *text)
{
	static char out[512];

	out[iotr_anonymize(anonymizer, privacy, text, strlen(text), out)] = '\0';
	return out;
}

START_TEST(leaves_no_name)
{
	_cleanup_json_ struct json_object *source = parse(manifest), *object = NULL, *again = NULL;

	ck_assert_int_eq(iotr_anonymize_manifest(anonymizer, source, &object), 0);
	ck_assert_int_eq(iotr_anonymize_manifest(anonymizer, source, &again), 0); /* the source is not changed */
	ck_assert(json_object_equal(object, again));
	ck_assert_ptr_null(strstr(json_object_to_json_string(object), "secret"));
	ck_assert_str_eq(at(object, "anonymized"), "true");
	ck_assert_str_eq(at(object, "session"), hash(IOTR_PRIVACY_NAME, "secret"));
	ck_assert_str_eq(at(object, "host.name"), hash(IOTR_PRIVACY_TEXT, "secret"));
	ck_assert_str_eq(at(object, "definition.filters.commands.0"), hash(IOTR_PRIVACY_NAME, "secret"));
	ck_assert_str_eq(at(object, "definition.filters.units.0"), hash(IOTR_PRIVACY_NAME, "secret.service"));
	ck_assert_str_eq(at(object, "definition.filters.paths.0"), hash(IOTR_PRIVACY_PATH, "/data/secret.db"));
	ck_assert_str_eq(at(object, "definition.filters.cgroups.0.path"), hash(IOTR_PRIVACY_PATH, "/secret/x"));
	ck_assert_str_eq(at(object, "definition.output"), hash(IOTR_PRIVACY_PATH, "/secret"));
	ck_assert_str_eq(at(object, "changes.0.definition.filters.paths.0"),
			 hash(IOTR_PRIVACY_PATH, "/data/secret.db"));
}
END_TEST

/* Names are escaped before they are hashed, as in rows, so that the hashes are the same. */
START_TEST(escapes_before_it_hashes)
{
	_cleanup_json_ struct json_object *source = parse(manifest), *object = NULL;

	iotr_anonymize_manifest(anonymizer, source, &object);
	ck_assert_str_eq(at(object, "definition.filters.commands.1"), hash(IOTR_PRIVACY_NAME, "a\\x2c\\x01secret"));
}
END_TEST

START_TEST(keeps_the_rest)
{
	static const char *const kept[] = {
		"schema_version", "iotracer_version", "level", "format", "host.kernel", "host.kernel_version", "host.machine",
		"started", "definition.streams.0", "definition.filters.pids.0", "definition.filters.tree",
		"definition.filters.devices.0", "definition.filters.operations.0", "definition.duration_ns",
		"definition.format", "hooks.vfs.0.name", "hooks.vfs.0.hook", "streams.vfs.folder",
		"segments.0.path", "snapshots.0.kind", "snapshots.0.path", "snapshots.0.rows", "segments.0.state",
		"gaps.0.reason", "state", "reason", "ended",
		"definition.filters.cgroups.0.id", "definition.other.deep.1", "definition.dump.from",
		"definition.dump.to", "changes.0.time", "changes.0.mono_ns", "changes.0.definition.streams.0",
		"changes.0.definition.filters.devices.0", "disk_errors.0.from", "disk_errors.0.error",
	};
	_cleanup_json_ struct json_object *before = parse(manifest), *after = NULL;

	iotr_anonymize_manifest(anonymizer, before, &after);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		ck_assert_str_eq(at(after, kept[i]), at(before, kept[i]));
}
END_TEST

START_TEST(takes_a_part)
{
	_cleanup_json_ struct json_object *source = parse("{'commands': ['secret'], 'devices': ['8:1']}"),
					  *filters = NULL;
	struct json_object *nothing = source;

	ck_assert_int_eq(iotr_anonymize_json(anonymizer, source, "definition.filters", &filters), 0);
	ck_assert_str_eq(at(filters, "commands.0"), hash(IOTR_PRIVACY_NAME, "secret"));
	ck_assert_str_eq(at(filters, "devices.0"), "8:1");
	ck_assert_int_eq(iotr_anonymize_json(anonymizer, NULL, "", &nothing), 0);
	ck_assert_ptr_null(nothing);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, leaves_no_name);
	tcase_add_test(tests, escapes_before_it_hashes);
	tcase_add_test(tests, keeps_the_rest);
	tcase_add_test(tests, takes_a_part);
}

int main(void)
{
	return run_suite("anonymize_manifest", add);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "anonymize_manifest.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "escape.h"

/*
 * How the texts at a member's path, and below it, are anonymised; the first rule that matches applies. Texts
 * without a rule are TEXT.
 */
static const struct rule {
	const char *path;
	enum iotr_privacy privacy;
} rules[] = {
	{ "iotracer_version", IOTR_PRIVACY_PUBLIC },
	{ "session", IOTR_PRIVACY_NAME },
	{ "level", IOTR_PRIVACY_PUBLIC },
	{ "format", IOTR_PRIVACY_PUBLIC },
	{ "state", IOTR_PRIVACY_PUBLIC },
	{ "reason", IOTR_PRIVACY_PUBLIC },
	{ "started", IOTR_PRIVACY_PUBLIC },
	{ "ended", IOTR_PRIVACY_PUBLIC },
	{ "clock", IOTR_PRIVACY_PUBLIC },
	{ "gaps", IOTR_PRIVACY_PUBLIC },
	{ "lacking", IOTR_PRIVACY_PUBLIC },
	{ "disk_errors", IOTR_PRIVACY_PUBLIC },
	{ "in_flight.oldest.filename", IOTR_PRIVACY_PATH },
	{ "in_flight.oldest.command", IOTR_PRIVACY_NAME },
	{ "in_flight", IOTR_PRIVACY_PUBLIC },
	{ "changes.time", IOTR_PRIVACY_PUBLIC },
	{ "hooks", IOTR_PRIVACY_PUBLIC },
	{ "missing", IOTR_PRIVACY_PUBLIC },
	{ "losses", IOTR_PRIVACY_PUBLIC },
	{ "streams", IOTR_PRIVACY_PUBLIC },
	{ "segments", IOTR_PRIVACY_PUBLIC },
	{ "snapshots.kind", IOTR_PRIVACY_PUBLIC },
	{ "snapshots.path", IOTR_PRIVACY_PUBLIC }, /* relative to the trace, made by this program */
	{ "snapshots.state", IOTR_PRIVACY_PUBLIC }, /* occurs in replies only */
	{ "snapshots.started", IOTR_PRIVACY_PUBLIC },
	{ "snapshots.ended", IOTR_PRIVACY_PUBLIC },
	{ "snapshots.sha256", IOTR_PRIVACY_PUBLIC },
	{ "host.kernel", IOTR_PRIVACY_PUBLIC },
	{ "host.kernel_version", IOTR_PRIVACY_PUBLIC },
	{ "host.machine", IOTR_PRIVACY_PUBLIC },
	{ "definition.name", IOTR_PRIVACY_NAME },
	{ "definition.streams", IOTR_PRIVACY_PUBLIC },
	{ "definition.format", IOTR_PRIVACY_PUBLIC },
	{ "definition.compress", IOTR_PRIVACY_PUBLIC },
	{ "definition.output", IOTR_PRIVACY_PATH },
	{ "definition.resumes", IOTR_PRIVACY_PATH },
	{ "definition.snapshot_root", IOTR_PRIVACY_PATH },
	{ "definition.dump.from", IOTR_PRIVACY_PUBLIC },
	{ "definition.dump.to", IOTR_PRIVACY_PUBLIC },
	{ "definition.dump.losses", IOTR_PRIVACY_PUBLIC },
	{ "definition.filters.commands", IOTR_PRIVACY_NAME },
	{ "definition.filters.units", IOTR_PRIVACY_NAME },
	{ "definition.filters.paths", IOTR_PRIVACY_PATH },
	{ "definition.filters.cgroups", IOTR_PRIVACY_PATH },
	{ "definition.filters.devices", IOTR_PRIVACY_PUBLIC },
	{ "definition.filters.operations", IOTR_PRIVACY_PUBLIC },
};

static enum iotr_privacy privacy_of(const char *path)
{
	static const char changed[] = "changes.definition";

	if (!strncmp(path, changed, sizeof(changed) - 1))
		path += strlen("changes."); /* the rules for the definition apply to its changes as well */
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		size_t length = strlen(rules[i].path);

		if (!strncmp(rules[i].path, path, length) && (!path[length] || path[length] == '.'))
			return rules[i].privacy;
	}
	return IOTR_PRIVACY_TEXT;
}

static int copy_text(struct iotr_anonymizer *anonymizer, enum iotr_privacy privacy, struct json_object *text,
		     struct json_object **ret)
{
	size_t length = (size_t)json_object_get_string_len(text);
	_cleanup_free_ char *escaped = malloc(ESCAPE_MAX(length) + 1), *out = NULL;

	if (!escaped || length > INT_MAX / 64)
		return -ENOMEM;
	length = escape_cell(json_object_get_string(text), length, escaped);
	out = malloc(IOTR_ANONYMIZED_MAX(length));
	if (!out)
		return -ENOMEM;
	length = iotr_anonymize(anonymizer, privacy, escaped, length, out);
	*ret = json_object_new_string_len(out, (int)length);
	return *ret ? 0 : -ENOMEM;
}

static int copy_elements(struct iotr_anonymizer *anonymizer, struct json_object *array, const char *path,
			 struct json_object **ret)
{
	_cleanup_json_ struct json_object *copy = json_object_new_array();
	int r = copy ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < json_object_array_length(array); i++) {
		struct json_object *value = NULL;

		r = iotr_anonymize_json(anonymizer, json_object_array_get_idx(array, i), path, &value);
		if (!r)
			r = json_object_array_add(copy, value);
	}
	if (!r)
		*ret = TAKE(copy);
	return r < 0 ? -ENOMEM : 0;
}

static int copy_member(struct iotr_anonymizer *anonymizer, struct json_object *object, const char *key,
		       struct json_object *value, const char *path)
{
	_cleanup_free_ char *inner = NULL;
	struct json_object *copy = NULL;

	if (asprintf(&inner, "%s%s%s", path, *path ? "." : "", key) < 0) {
		inner = NULL;
		return -ENOMEM;
	}
	if (iotr_anonymize_json(anonymizer, value, inner, &copy) < 0)
		return -ENOMEM;
	return json_object_object_add(object, key, copy);
}

static int copy_members(struct iotr_anonymizer *anonymizer, struct json_object *object, const char *path,
			struct json_object **ret)
{
	_cleanup_json_ struct json_object *copy = json_object_new_object();

	if (!copy)
		return -ENOMEM;
	json_object_object_foreach(object, key, value)
		if (copy_member(anonymizer, copy, key, value, path) < 0)
			return -ENOMEM;
	*ret = TAKE(copy);
	return 0;
}

int iotr_anonymize_json(struct iotr_anonymizer *anonymizer, struct json_object *object, const char *path,
			struct json_object **ret)
{
	enum iotr_privacy privacy = privacy_of(path);

	if (json_object_is_type(object, json_type_array))
		return copy_elements(anonymizer, object, path, ret);
	if (json_object_is_type(object, json_type_object))
		return copy_members(anonymizer, object, path, ret);
	if (json_object_is_type(object, json_type_string) && privacy != IOTR_PRIVACY_PUBLIC)
		return copy_text(anonymizer, privacy, object, ret);
	*ret = json_object_get(object);
	return 0;
}

int iotr_anonymize_manifest(struct iotr_anonymizer *anonymizer, struct json_object *manifest,
			    struct json_object **ret)
{
	int r = iotr_anonymize_json(anonymizer, manifest, "", ret);

	if (r < 0)
		return r;
	return json_object_object_add(*ret, IOTR_MANIFEST_ANONYMIZED, json_object_new_boolean(true));
}

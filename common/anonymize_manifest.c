// SPDX-License-Identifier: GPL-2.0-or-later
#include "anonymize_manifest.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "escape.h"

/* By the path of a member, whose inner ones it holds for too; the first that fits. All else is TEXT. */
static const struct rule {
	const char *path;
	enum iotr_privacy privacy;
} rules[] = {
	{ "iotracer_version", IOTR_PRIVACY_PUBLIC },
	{ "session", IOTR_PRIVACY_NAME },
	{ "level", IOTR_PRIVACY_PUBLIC },
	{ "state", IOTR_PRIVACY_PUBLIC },
	{ "reason", IOTR_PRIVACY_PUBLIC },
	{ "started", IOTR_PRIVACY_PUBLIC },
	{ "ended", IOTR_PRIVACY_PUBLIC },
	{ "clock", IOTR_PRIVACY_PUBLIC },
	{ "gaps", IOTR_PRIVACY_PUBLIC },
	{ "hooks", IOTR_PRIVACY_PUBLIC },
	{ "streams", IOTR_PRIVACY_PUBLIC },
	{ "segments", IOTR_PRIVACY_PUBLIC },
	{ "host.kernel", IOTR_PRIVACY_PUBLIC },
	{ "host.kernel_version", IOTR_PRIVACY_PUBLIC },
	{ "host.machine", IOTR_PRIVACY_PUBLIC },
	{ "definition.name", IOTR_PRIVACY_NAME },
	{ "definition.streams", IOTR_PRIVACY_PUBLIC },
	{ "definition.format", IOTR_PRIVACY_PUBLIC },
	{ "definition.compress", IOTR_PRIVACY_PUBLIC },
	{ "definition.output", IOTR_PRIVACY_PATH },
	{ "definition.filters.commands", IOTR_PRIVACY_NAME },
	{ "definition.filters.units", IOTR_PRIVACY_NAME },
	{ "definition.filters.paths", IOTR_PRIVACY_PATH },
	{ "definition.filters.cgroups", IOTR_PRIVACY_PATH },
	{ "definition.filters.devices", IOTR_PRIVACY_PUBLIC },
	{ "definition.filters.operations", IOTR_PRIVACY_PUBLIC },
};

static enum iotr_privacy privacy_of(const char *path)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		size_t length = strlen(rules[i].path);

		if (!strncmp(rules[i].path, path, length) && (!path[length] || path[length] == '.'))
			return rules[i].privacy;
	}
	return IOTR_PRIVACY_TEXT;
}

/* A new object, NULL when there is no memory. */
static struct json_object *replace_text(struct iotr_anonymizer *anonymizer, enum iotr_privacy privacy,
					struct json_object *text)
{
	size_t length = (size_t)json_object_get_string_len(text);
	_cleanup_free_ char *escaped = malloc(ESCAPE_MAX(length) + 1), *out = NULL;
	bool quote;

	if (!escaped)
		return NULL;
	length = escape_text(json_object_get_string(text), length, escaped, &quote);
	out = malloc(IOTR_ANONYMIZED_MAX(length));
	if (!out || length > INT_MAX / 16)
		return NULL;
	length = iotr_anonymize(anonymizer, privacy, escaped, length, out);
	return json_object_new_string_len(out, (int)length);
}

/* What the value is to be: itself, or a new object. NULL: no memory. */
static struct json_object *replace(struct iotr_anonymizer *anonymizer, struct json_object *value,
				   const char *path)
{
	enum iotr_privacy privacy = privacy_of(path);

	if (json_object_is_type(value, json_type_string) && privacy != IOTR_PRIVACY_PUBLIC)
		return replace_text(anonymizer, privacy, value);
	if (iotr_anonymize_json(anonymizer, value, path) < 0)
		return NULL;
	return json_object_get(value);
}

static int replace_elements(struct iotr_anonymizer *anonymizer, struct json_object *array, const char *path)
{
	for (size_t i = 0; i < json_object_array_length(array); i++) {
		struct json_object *value = json_object_array_get_idx(array, i), *replaced;

		if (!value)
			continue;
		replaced = replace(anonymizer, value, path);
		if (!replaced)
			return -ENOMEM;
		json_object_array_put_idx(array, i, replaced);
	}
	return 0;
}

static int replace_members(struct iotr_anonymizer *anonymizer, struct json_object *object, const char *path)
{
	json_object_object_foreach(object, key, value)
	{
		_cleanup_free_ char *inner = NULL;
		struct json_object *replaced;

		if (!value)
			continue;
		if (asprintf(&inner, "%s%s%s", path, *path ? "." : "", key) < 0) {
			inner = NULL;
			return -ENOMEM;
		}
		replaced = replace(anonymizer, value, inner);
		if (!replaced)
			return -ENOMEM;
		json_object_object_add(object, key, replaced); /* of a member that is there: in its place */
	}
	return 0;
}

int iotr_anonymize_json(struct iotr_anonymizer *anonymizer, struct json_object *object, const char *path)
{
	if (json_object_is_type(object, json_type_array))
		return replace_elements(anonymizer, object, path);
	if (json_object_is_type(object, json_type_object))
		return replace_members(anonymizer, object, path);
	return 0;
}

int iotr_anonymize_manifest(struct iotr_anonymizer *anonymizer, struct json_object *manifest)
{
	int r = iotr_anonymize_json(anonymizer, manifest, "");

	if (r < 0)
		return r;
	return json_object_object_add(manifest, IOTR_MANIFEST_ANONYMIZED, json_object_new_boolean(true));
}

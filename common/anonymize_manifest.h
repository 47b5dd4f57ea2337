/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Anonymises the texts of a manifest, and of JSON that shows a part of one. A text is hashed unless it is
 * known to contain no names, so that a new member cannot disclose any by mistake. Thread: that of the
 * anonymizer.
 */
#pragma once

#include <json-c/json.h>

#include "anonymize.h"

/* Member of the manifest, true if the trace is anonymised. */
#define IOTR_MANIFEST_ANONYMIZED "anonymized"

/*
 * Makes a copy with anonymised texts. `path` is the position of the object in a manifest: "" for a whole one,
 * otherwise as in "definition.filters". -ENOMEM.
 */
int iotr_anonymize_json(struct iotr_anonymizer *anonymizer, struct json_object *object, const char *path,
			struct json_object **ret);

/* The same for a whole manifest; the copy is marked as anonymised. */
int iotr_anonymize_manifest(struct iotr_anonymizer *anonymizer, struct json_object *manifest,
			    struct json_object **ret);

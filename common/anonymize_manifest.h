/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts of a manifest, and of JSON that shows a part of one. What is not known to be without names
 * is hashed, so that a new member cannot tell one by mistake. Thread: that of the anonymizer.
 */
#pragma once

#include <json-c/json.h>

#include "anonymize.h"

/* A member of the manifest that says that its trace is anonymised: true. */
#define IOTR_MANIFEST_ANONYMIZED "anonymized"

/*
 * A copy with other texts. `path` is where in a manifest the object stands: "" for a whole one, else
 * as in "definition.filters". -ENOMEM.
 */
int iotr_anonymize_json(struct iotr_anonymizer *anonymizer, struct json_object *object, const char *path,
			struct json_object **ret);

/* The same of a whole manifest; the copy says what it is. */
int iotr_anonymize_manifest(struct iotr_anonymizer *anonymizer, struct json_object *manifest,
			    struct json_object **ret);

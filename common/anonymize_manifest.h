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
 * Replaces texts in place. `path` is where in a manifest the object stands: "" for a whole one, else
 * as in "definition.filters". -ENOMEM, and then part of it is done.
 */
int iotr_anonymize_json(struct iotr_anonymizer *anonymizer, struct json_object *object, const char *path);

/* A whole manifest, which says so from then on. */
int iotr_anonymize_manifest(struct iotr_anonymizer *anonymizer, struct json_object *manifest);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON for machines: documents on stdout, and, by json_read.h, what is in one. One thread.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

#include "json_read.h"

/* Prints one document and a line end on stdout, as UTF-8 whatever its strings hold: see escape_json(). */
void print_json(struct json_object *document);

/* Whether a document was printed. */
bool json_printed(void);

/*
 * A JSON string from text that may contain any byte, such as a file's name. Returns NULL, which JSON prints as
 * null, if there is no memory.
 */
struct json_object *json_escaped(const char *bytes);

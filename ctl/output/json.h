/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON for machines: documents on stdout, and, by json_read.h, what is in one. One thread.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

#include "json_read.h"

/* Prints a value on stdout, as UTF-8 whatever its strings hold (see escape_json()), and without control characters. */
void put_json(struct json_object *value);

/* The same of one document, with a line end. */
void print_json(struct json_object *document);

/* Whether a document was printed. */
bool json_printed(void);

/*
 * A JSON string from text that may contain any byte, such as a file's name. Returns NULL, which JSON prints as
 * null, if there is no memory.
 */
struct json_object *json_escaped(const char *bytes);

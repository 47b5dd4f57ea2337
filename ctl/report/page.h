/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A page that draws a report's document, with all that it needs within itself. One thread. */
#pragma once

#include <stdio.h>

struct json_object;

/* Writes the page; the caller looks at ferror(). Nothing in the document can end its script, or be taken for HTML. */
void page_write(FILE *stream, struct json_object *document);

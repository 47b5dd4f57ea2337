/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A text of JSON (RFC 8259) as an object. The library's own parser does not bear that there is no memory: it goes on with what it
 * has not got. Any thread.
 */
#pragma once

#include <json-c/json.h>
#include <stddef.h>

/*
 * -EBADMSG: the text is none, is followed by something, or has more than `depth` objects and arrays within each other; -ENOMEM.
 * `why` says which, in words. A member that comes again takes the place of the first; a text of a number that no double has is
 * kept.
 */
int json_parse(const char *text, size_t length, unsigned int depth, struct json_object **ret, const char **why);

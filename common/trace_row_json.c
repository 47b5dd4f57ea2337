// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace_row_json.h"

#include <string.h>

static char *skip_space(char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
		at++;
	return at;
}

/* Takes one character. Returns the position after it, or NULL. */
static char *take_mark(char *at, const char *end, char mark)
{
	at = at ? skip_space(at, end) : NULL;
	return at && at < end && *at == mark ? at + 1 : NULL;
}

/* The string that begins after its quote; rows contain no other escapes than those of quote and backslash. */
static char *take_string(char *at, const char *end, struct trace_text *text)
{
	char *to;

	text->at = at;
	while (at < end && *at != '"' && *at != '\\')
		at++;
	for (to = at; at < end && *at != '"'; *to++ = *at++)
		if (*at == '\\' && (++at == end || (*at != '"' && *at != '\\' && *at != '/')))
			return NULL;
	text->length = (size_t)(to - text->at);
	return at < end ? at + 1 : NULL;
}

static char *take_plain(char *at, const char *end, struct trace_text *text)
{
	text->at = at;
	while (at < end && *at != ',' && *at != '}' && *at != ' ')
		if (strchr("\"{[]:", *at++))
			return NULL;
	text->length = (size_t)(at - text->at);
	if (trace_text_is(*text, "null"))
		text->length = 0;
	else if (!text->length)
		return NULL;
	return at;
}

static char *take_value(char *at, const char *end, struct trace_text *text)
{
	if (!at)
		return NULL;
	at = skip_space(at, end);
	return at < end && *at == '"' ? take_string(at + 1, end, text) : take_plain(at, end, text);
}

bool trace_row_json(char *at, char *end, const struct trace_text *names, size_t columns, struct trace_text *cells)
{
	at = take_mark(at, end, '{');
	for (size_t i = 0; at && i < columns; i++) {
		struct trace_text key;

		if (i)
			at = take_mark(at, end, ',');
		at = take_mark(at, end, '"');
		at = at ? take_string(at, end, &key) : NULL;
		if (!at || key.length != names[i].length || memcmp(key.at, names[i].at, key.length) != 0)
			return false;
		at = take_value(take_mark(at, end, ':'), end, &cells[i]);
	}
	at = take_mark(at, end, '}');
	return at && skip_space(at, end) == end;
}

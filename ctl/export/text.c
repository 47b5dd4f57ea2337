// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/text.h"

#include <stdio.h>
#include <string.h>

#include "escape.h"

/* Undoes the escapes, of as much as has room. */
static size_t decode(struct trace_text text, char ret[EXPORT_TEXT_MAX])
{
	size_t length = 0;

	for (size_t at = 0; at < text.length && length < EXPORT_TEXT_MAX; length++) {
		unsigned char byte;

		at += escape_undo(text.at + at, text.length - at, &byte);
		ret[length] = (char)byte;
	}
	return length;
}

size_t export_text_short(struct trace_text text, size_t most, char ret[EXPORT_TEXT_MAX + 1])
{
	char bytes[EXPORT_TEXT_MAX], escape[sizeof("\\xff")];
	size_t size = decode(text, bytes), written = 0;

	for (size_t at = 0, length; at < size; at += length) {
		size_t valid = escape_character(bytes + at, size - at), room = valid ? valid : sizeof(escape) - 1;

		length = valid ? valid : 1;
		if (written + room > most)
			break;
		if (!valid)
			snprintf(escape, sizeof(escape), "\\x%02x", (unsigned char)bytes[at]);
		memcpy(ret + written, valid ? bytes + at : escape, room);
		written += room;
	}
	ret[written] = '\0';
	return written;
}

size_t export_text(struct trace_text text, char ret[EXPORT_TEXT_MAX + 1])
{
	return export_text_short(text, EXPORT_TEXT_MAX, ret);
}

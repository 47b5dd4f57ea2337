// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/text.h"

#include <string.h>

#include "escape.h"

size_t export_text_short(struct trace_text text, size_t most, char ret[EXPORT_TEXT_MAX + 1])
{
	size_t written = 0;

	for (size_t at = 0, length; at < text.length; at += length) {
		length = escape_character(text.at + at, text.length - at);
		if (written + (length ? length : 1) > most)
			break;
		if (!length)
			ret[written] = '?';
		else
			memcpy(ret + written, text.at + at, length);
		length = length ? length : 1;
		written += length;
	}
	ret[written] = '\0';
	return written;
}

size_t export_text(struct trace_text text, char ret[EXPORT_TEXT_MAX + 1])
{
	return export_text_short(text, EXPORT_TEXT_MAX, ret);
}

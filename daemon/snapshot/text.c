// SPDX-License-Identifier: GPL-2.0-or-later
#include "text.h"

#include <string.h>

char *text_time(struct text_clock *clock, char *out, int64_t second, uint32_t nanosecond)
{
	if (clock->second != second || !clock->text[0]) {
		clock_date(clock->text, second);
		clock->second = second;
	}
	out = mempcpy(out, clock->text, CLOCK_DATE_SIZE);
	*out++ = (char)('0' + nanosecond / 100000000);
	return digits_8(out, nanosecond % 100000000);
}

static char *quote_cell(char *out, size_t length)
{
	size_t quotes = 0;
	char *to;

	for (size_t i = 0; i < length; i++)
		quotes += out[i] == '"';
	to = out + length + quotes + 2;
	*--to = '"';
	for (size_t i = length; i--;) {
		*--to = out[i];
		if (out[i] == '"')
			*--to = '"';
	}
	*--to = '"';
	return out + length + quotes + 2;
}

char *text_cell(char *out, const char *text, size_t length)
{
	bool quote = false;
	size_t written = escape_text(text, length, out, &quote);

	return quote ? quote_cell(out, written) : out + written;
}

char *text_device(char *out, uint32_t major, uint32_t minor)
{
	out = digits_u64(out, major);
	*out++ = ':';
	return digits_u64(out, minor);
}

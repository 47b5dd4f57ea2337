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

char *text_cell(char *out, const char *text, size_t length)
{
	return out + escape_field(text, length, out);
}

char *text_words(char *out, const char *text, size_t length)
{
	return out + escape_words(text, length, out);
}

char *text_device(char *out, uint32_t major, uint32_t minor)
{
	out = digits_u64(out, major);
	*out++ = ':';
	return digits_minor(out, minor);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum class {
	CLASS_PLAIN,
	CLASS_MARK, /* what CSV gives a meaning to; copied as it is where there is no table */
	CLASS_ESCAPE,
	CLASS_ARROW, /* '>': copied as it is, unless it ends an arrow */
	CLASS_LEAD2, /* first byte of a two-byte sequence */
	CLASS_LEAD3,
	CLASS_LEAD4,
};

static const uint8_t classes[256] = {
	[0x00 ... 0x1f] = CLASS_ESCAPE,
	['"'] = CLASS_MARK,
	[','] = CLASS_MARK,
	['\\'] = CLASS_ESCAPE,
	['>'] = CLASS_ARROW,
	[0x7f] = CLASS_ESCAPE,
	[0x80 ... 0xc1] = CLASS_ESCAPE,
	[0xc2 ... 0xdf] = CLASS_LEAD2,
	[0xe0 ... 0xef] = CLASS_LEAD3,
	[0xf0 ... 0xf4] = CLASS_LEAD4,
	[0xf5 ... 0xff] = CLASS_ESCAPE,
};

/* Whether the second byte is possible: excludes overlong forms, surrogates and code points above U+10FFFF. */
static bool second_valid(uint8_t lead, uint8_t second)
{
	uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
	uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;

	return second >= low && second <= high;
}

/* Length in bytes of the sequence that begins here, or 0 if it is not valid. */
static size_t sequence_length(enum class lead, const uint8_t *bytes, size_t left)
{
	size_t length = 2 + (size_t)(lead - CLASS_LEAD2);

	if (length > left || !second_valid(bytes[0], bytes[1]))
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

size_t escape_character(const char *text, size_t length)
{
	const uint8_t *bytes = (const uint8_t *)text;
	enum class class = length ? classes[bytes[0]] : CLASS_ESCAPE;

	if (class >= CLASS_LEAD2)
		return sequence_length(class, bytes, length);
	return length && (class != CLASS_ESCAPE || bytes[0] == '\\');
}

static size_t escape_byte(uint8_t byte, char *out)
{
	static const char digits[] = "0123456789abcdef";

	out[0] = '\\';
	out[1] = 'x';
	out[2] = digits[byte >> 4];
	out[3] = digits[byte & 15];
	return 4;
}

static bool ends_arrow(const uint8_t *bytes, size_t at)
{
	return at >= 2 && bytes[at - 1] == '-' && bytes[at - 2] == ' ';
}

static size_t escape(const char *text, size_t length, char *out, bool marks)
{
	const uint8_t *bytes = (const uint8_t *)text;
	size_t written = 0;

	for (size_t i = 0; i < length;) {
		enum class class = classes[bytes[i]];
		size_t sequence = 1;

		if (class == CLASS_ARROW)
			sequence = !ends_arrow(bytes, i);
		if (class >= CLASS_LEAD2)
			sequence = sequence_length(class, bytes + i, length - i);
		if (class == CLASS_ESCAPE || (class == CLASS_MARK && marks) || !sequence) {
			written += escape_byte(bytes[i++], out + written);
			continue;
		}
		memcpy(out + written, bytes + i, sequence);
		written += sequence;
		i += sequence;
	}
	return written;
}

size_t escape_text(const char *text, size_t length, char *out)
{
	return escape(text, length, out, false);
}

size_t escape_cell(const char *text, size_t length, char *out)
{
	return escape(text, length, out, true);
}

static int digit_of(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

size_t escape_undo(const char *text, size_t length, unsigned char *byte)
{
	bool escape = length >= 4 && text[0] == '\\' && text[1] == 'x' && digit_of(text[2]) >= 0 && digit_of(text[3]) >= 0;

	*byte = escape ? (unsigned char)(digit_of(text[2]) << 4 | digit_of(text[3])) : (unsigned char)*text;
	return escape ? 4 : 1;
}

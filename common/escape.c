// SPDX-License-Identifier: GPL-2.0-or-later
#include "escape.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum class {
	CLASS_PLAIN,
	CLASS_MARK, /* what somebody takes for the mark between fields, or for quotes; copied where there is no table */
	CLASS_SPACE, /* copied, but in a table not at the end of a name */
	CLASS_ESCAPE,
	CLASS_ARROW, /* '>': copied as it is, unless it ends an arrow */
	CLASS_LEAD2, /* first byte of a two-byte sequence */
	CLASS_LEAD3,
	CLASS_LEAD4,
};

static const uint8_t classes[256] = {
	[0x00 ... 0x1f] = CLASS_ESCAPE,
	[' '] = CLASS_SPACE,
	['"'] = CLASS_MARK,
	[','] = CLASS_MARK,
	[';'] = CLASS_MARK,
	['|'] = CLASS_MARK,
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

enum use {
	USE_TEXT,
	USE_WORDS, /* of a table: words between spaces */
	USE_NAMES, /* of a table: names between slashes */
};

/* Whether a text or a name ends behind this byte. */
static bool is_last(const uint8_t *bytes, size_t at, size_t length, enum use use)
{
	return at + 1 == length || (use == USE_NAMES && bytes[at + 1] == '/');
}

static size_t escape(const char *text, size_t length, char *out, enum use use)
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
		if (class == CLASS_SPACE)
			sequence = use == USE_TEXT || !is_last(bytes, i, length, use);
		if (class == CLASS_ESCAPE || (class == CLASS_MARK && use != USE_TEXT) || !sequence) {
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
	return escape(text, length, out, USE_TEXT);
}

size_t escape_cell(const char *text, size_t length, char *out)
{
	return escape(text, length, out, USE_NAMES);
}

/* ---- what is taken for something else than text ---- */

static bool is_letter(char byte)
{
	return (byte | 32) >= 'a' && (byte | 32) <= 'z';
}

static bool is_one_of(const char *const *words, const char *text, size_t length)
{
	for (; *words; words++)
		if (strlen(*words) == length && !strncasecmp(*words, text, length))
			return true;
	return false;
}

static bool begins_with(const char *text, size_t length, const char *word)
{
	return length >= strlen(word) && !strncasecmp(text, word, strlen(word));
}

/* Truth values, and what stands for nothing. */
static bool is_value(const char *text, size_t length)
{
	static const char *const words[] = { "true", "false", "t",    "f",   "yes",  "no",    "y",   "n",     "on", "off",
					     "null", "none",  "na",   "n/a", "<na>", "epoch", "now", "today", NULL };

	return is_one_of(words, text, length);
}

static bool is_binary(const char *text, size_t length)
{
	if (!begins_with(text, length, "0b"))
		return false;
	for (size_t i = 2; i < length; i++)
		if (text[i] != '0' && text[i] != '1' && text[i] != '_')
			return false;
	return true;
}

/* With or without a sign: what is no finite number, and hexadecimal and binary ones. */
static bool is_special(const char *text, size_t length)
{
	size_t sign = length && (text[0] == '-' || text[0] == '+');

	text += sign;
	length -= sign;
	return (begins_with(text, length, "nan") && (length == 3 || text[3] == '(')) ||
	       (length == 3 && begins_with(text, length, "inf")) || (length == 8 && begins_with(text, length, "infinity")) ||
	       begins_with(text, length, "0x") || is_binary(text, length);
}

/*
 * Whether there are digits, and between them only what stands in numbers, times and dates, in any order; or such marks alone,
 * of which a lone point is the beginning of a number to some.
 */
static bool is_number_or_time(const char *text, size_t length)
{
	static const char *const words[] = {
		"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "january", "february",
		"march", "april", "june", "july", "august", "september", "october", "november", "december", "mon", "tue",
		"wed", "thu", "fri", "sat", "sun", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
		"sunday", "am", "pm", "utc", "gmt", "msk", "msd", "e", "t", "z", NULL,
	};
	bool digit = length && memchr(".+-", text[0], 3);

	for (size_t at = 0, word; at < length; at += word) {
		for (word = 0; at + word < length && is_letter(text[at + word]);)
			word++;
		if (word && !is_one_of(words, text + at, word))
			return false;
		if (word)
			continue;
		word = 1;
		if (text[at] >= '0' && text[at] <= '9')
			digit = true;
		else if (!memchr(" .:+-/", text[at], 6))
			return false;
	}
	return digit;
}

static bool is_ambiguous(const char *text, size_t length)
{
	if (!length || text[0] == '/' || begins_with(text, length, "..."))
		return false;
	return memchr(" #'", text[0], 3) || is_value(text, length) || is_special(text, length) ||
	       is_number_or_time(text, length);
}

static size_t escape_whole(const char *text, size_t length, char *out, enum use use)
{
	if (!is_ambiguous(text, length))
		return escape(text, length, out, use);
	escape_byte((uint8_t)text[0], out);
	return ESCAPE_MAX(1) + escape(text + 1, length - 1, out + ESCAPE_MAX(1), use);
}

size_t escape_field(const char *text, size_t length, char *out)
{
	return escape_whole(text, length, out, USE_NAMES);
}

size_t escape_words(const char *text, size_t length, char *out)
{
	return escape_whole(text, length, out, USE_WORDS);
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

/* Length of the character that the text begins with, whichever it is; 0: it is none of UTF-8. */
static size_t any_character(const uint8_t *bytes, size_t left)
{
	if (bytes[0] < 0x80)
		return 1;
	return classes[bytes[0]] >= CLASS_LEAD2 ? sequence_length(classes[bytes[0]], bytes, left) : 0;
}

enum { JSON_ESCAPE = 5 };

size_t escape_json_more(const char *text, size_t length)
{
	const uint8_t *bytes = (const uint8_t *)text;
	size_t more = 0;

	for (size_t at = 0; at < length;) {
		size_t size = any_character(bytes + at, length - at);

		more += size ? 0 : JSON_ESCAPE - 1;
		at += size ?: 1;
	}
	return more;
}

void escape_json(const char *text, size_t length, char *out)
{
	const uint8_t *bytes = (const uint8_t *)text;

	for (size_t at = 0; at < length;) {
		size_t size = any_character(bytes + at, length - at);

		if (size) {
			memcpy(out, text + at, size);
			out += size;
			at += size;
			continue;
		}
		*out++ = '\\';
		out += escape_byte(bytes[at++], out);
	}
}

int escape_json_copy(const char *text, size_t *length, char **ret)
{
	size_t more = escape_json_more(text, *length);

	*ret = more ? malloc(*length + more) : NULL;
	if (!more)
		return 0;
	if (!*ret)
		return -ENOMEM;
	escape_json(text, *length, *ret);
	*length += more;
	return 0;
}

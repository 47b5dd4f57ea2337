// SPDX-License-Identifier: GPL-2.0-or-later
#include "json_parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"

#define NUMBER_MAX 512 /* characters of a number */

struct parser {
	const char *at, *end;
	const char *why;
	unsigned int depth; /* that are left */
};

static int bad(struct parser *parser, const char *why)
{
	parser->why = why;
	return -EBADMSG;
}

static int no_memory(struct parser *parser)
{
	parser->why = "out of memory";
	return -ENOMEM;
}

static void skip_space(struct parser *parser)
{
	while (parser->at < parser->end && memchr(" \t\r\n", *parser->at, 4))
		parser->at++;
}

static bool take(struct parser *parser, char wanted)
{
	if (parser->at == parser->end || *parser->at != wanted)
		return false;
	parser->at++;
	return true;
}

static bool take_word(struct parser *parser, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(parser->end - parser->at) < length || memcmp(parser->at, word, length))
		return false;
	parser->at += length;
	return true;
}

/* ---- strings ---- */

static int hex_digit(char digit)
{
	return digit >= '0' && digit <= '9' ? digit - '0' :
	       digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 :
	       digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 :
					      -1;
}

/* The four digits of \uXXXX, or -1. */
static int32_t take_unit(struct parser *parser)
{
	int32_t unit = 0;

	if (parser->end - parser->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(*parser->at++);

		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

static char *put_utf8(char *out, uint32_t point)
{
	static const uint8_t first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	int bytes = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

	for (int i = bytes - 1; i > 0; i--, point >>= 6)
		out[i] = (char)(0x80 | (point & 0x3f));
	*out = (char)(point | first[bytes]);
	return out + bytes;
}

/* Half of a pair alone is no character. */
static int take_point(struct parser *parser, char **out)
{
	const uint32_t none = 0xfffd;
	int32_t unit = take_unit(parser), low;
	const char *behind = parser->at;

	if (unit < 0)
		return bad(parser, "\\u is followed by four hexadecimal digits");
	if (unit >= 0xd800 && unit < 0xdc00 && take_word(parser, "\\u")) {
		low = take_unit(parser);
		if (low >= 0xdc00 && low < 0xe000) {
			*out = put_utf8(*out, 0x10000 + ((uint32_t)(unit - 0xd800) << 10 | (uint32_t)(low - 0xdc00)));
			return 0;
		}
		parser->at = behind;
	}
	*out = put_utf8(*out, unit >= 0xd800 && unit < 0xe000 ? none : (uint32_t)unit);
	return 0;
}

static int take_escape(struct parser *parser, char **out)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *letter = parser->at < parser->end && *parser->at ? strchr(letters, *parser->at) : NULL;

	if (take(parser, 'u'))
		return take_point(parser, out);
	if (!letter)
		return bad(parser, "an unknown escape in a string");
	parser->at++;
	*(*out)++ = meant[letter - letters];
	return 0;
}

/* What is between quotes, of which the first was taken, with a NUL behind it; it is never longer than its text. */
static int take_text(struct parser *parser, char **ret, size_t *length)
{
	const char *quote = parser->at;
	_cleanup_free_ char *text = NULL;
	char *out;
	int r = 0;

	while (quote < parser->end && *quote != '"')
		quote += *quote == '\\' ? 2 : 1;
	if (quote >= parser->end)
		return bad(parser, "a string does not end");
	text = malloc((size_t)(quote - parser->at) + 1);
	if (!text)
		return no_memory(parser);
	for (out = text; r == 0 && *parser->at != '"';) {
		char one = *parser->at++;

		if ((unsigned char)one < ' ')
			return bad(parser, "a control character in a string");
		if (one == '\\')
			r = take_escape(parser, &out);
		else
			*out++ = one;
	}
	if (r < 0)
		return r;
	parser->at++;
	*out = '\0';
	*length = (size_t)(out - text);
	*ret = TAKE(text);
	return 0;
}

static int take_string(struct parser *parser, struct json_object **ret)
{
	_cleanup_free_ char *text = NULL;
	size_t length = 0;
	int r = take_text(parser, &text, &length);

	if (r < 0)
		return r;
	*ret = json_object_new_string_len(text, (int)length);
	return *ret ? 0 : no_memory(parser);
}

/* ---- numbers ---- */

static bool is_digit(const struct parser *parser)
{
	return parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9';
}

static bool take_digits(struct parser *parser)
{
	bool any = is_digit(parser);

	while (is_digit(parser))
		parser->at++;
	return any;
}

/* Whether it is one; `whole`: it has neither a fraction nor an exponent. */
static bool scan_number(struct parser *parser, bool *whole)
{
	take(parser, '-');
	if (!take(parser, '0') && !take_digits(parser))
		return false;
	*whole = true;
	if (take(parser, '.')) {
		*whole = false;
		if (!take_digits(parser))
			return false;
	}
	if (take(parser, 'e') || take(parser, 'E')) {
		*whole = false;
		if (!take(parser, '+'))
			take(parser, '-');
		return take_digits(parser);
	}
	return true;
}

/* One that no integer holds is the greatest or the least. */
static struct json_object *whole_number(const char *text)
{
	if (*text == '-')
		return json_object_new_int64(strtoll(text, NULL, 10));
	errno = 0;
	if (strtoll(text, NULL, 10) < INT64_MAX && !errno)
		return json_object_new_int64(strtoll(text, NULL, 10));
	return json_object_new_uint64(strtoull(text, NULL, 10));
}

static int take_number(struct parser *parser, struct json_object **ret)
{
	const char *begin = parser->at;
	bool whole = false;
	char text[NUMBER_MAX];
	size_t length;

	if (!scan_number(parser, &whole))
		return bad(parser, "what is no JSON value stands where one is expected");
	length = (size_t)(parser->at - begin);
	if (length >= sizeof(text))
		return bad(parser, "a number is too long");
	memcpy(text, begin, length);
	text[length] = '\0';
	*ret = whole ? whole_number(text) : json_object_new_double_s(strtod(text, NULL), text);
	return *ret ? 0 : no_memory(parser);
}

/* ---- objects and arrays ---- */

static int take_value(struct parser *parser, struct json_object **ret);

static int take_member(struct parser *parser, struct json_object *object)
{
	_cleanup_json_ struct json_object *value = NULL;
	_cleanup_free_ char *key = NULL;
	size_t length = 0;
	int r;

	skip_space(parser);
	if (!take(parser, '"'))
		return bad(parser, "the name of a member is expected");
	r = take_text(parser, &key, &length);
	if (r < 0)
		return r;
	if (strlen(key) != length)
		return bad(parser, "the name of a member contains a NUL byte");
	skip_space(parser);
	if (!take(parser, ':'))
		return bad(parser, "a colon is expected behind the name of a member");
	r = take_value(parser, &value);
	if (r < 0)
		return r;
	if (json_object_object_add(object, key, value) < 0)
		return no_memory(parser);
	TAKE(value);
	return 0;
}

static int take_element(struct parser *parser, struct json_object *array)
{
	_cleanup_json_ struct json_object *value = NULL;
	int r = take_value(parser, &value);

	if (r < 0)
		return r;
	if (json_object_array_add(array, value) < 0)
		return no_memory(parser);
	TAKE(value);
	return 0;
}

/* What is between brackets, of which the first was taken. */
static int take_list(struct parser *parser, struct json_object *list, char end,
		     int (*one)(struct parser *parser, struct json_object *list))
{
	int r;

	if (!list)
		return no_memory(parser);
	if (!parser->depth)
		return bad(parser, "objects and arrays within each other are too many");
	parser->depth--;
	skip_space(parser);
	if (!take(parser, end)) {
		do {
			r = one(parser, list);
			if (r < 0)
				return r;
			skip_space(parser);
		} while (take(parser, ','));
		if (!take(parser, end))
			return bad(parser, "a comma or the end of an object or array is expected");
	}
	parser->depth++;
	return 0;
}

static int take_container(struct parser *parser, bool is_object, struct json_object **ret)
{
	_cleanup_json_ struct json_object *list = is_object ? json_object_new_object() : json_object_new_array();
	int r = take_list(parser, list, is_object ? '}' : ']', is_object ? take_member : take_element);

	if (r >= 0)
		*ret = TAKE(list);
	return r;
}

static int take_value(struct parser *parser, struct json_object **ret)
{
	skip_space(parser);
	if (take(parser, '{'))
		return take_container(parser, true, ret);
	if (take(parser, '['))
		return take_container(parser, false, ret);
	if (take(parser, '"'))
		return take_string(parser, ret);
	*ret = NULL;
	if (take_word(parser, "null"))
		return 0;
	if (take_word(parser, "true"))
		return (*ret = json_object_new_boolean(true)) ? 0 : no_memory(parser);
	if (take_word(parser, "false"))
		return (*ret = json_object_new_boolean(false)) ? 0 : no_memory(parser);
	return take_number(parser, ret);
}

int json_parse(const char *text, size_t length, unsigned int depth, struct json_object **ret, const char **why)
{
	struct parser parser = { .at = text, .end = text + length, .why = "", .depth = depth };
	_cleanup_json_ struct json_object *value = NULL;
	int r = take_value(&parser, &value);

	skip_space(&parser);
	if (r >= 0 && parser.at < parser.end)
		r = bad(&parser, "something follows the end of the text");
	*why = parser.why;
	if (r >= 0)
		*ret = TAKE(value);
	return r;
}

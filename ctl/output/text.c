// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "cleanup.h"
#include "escape.h"

static FILE *picture; /* is drawn on a screen, which understands the sequences */

const char *style_sequence(enum style style)
{
	static const char *const sequences[] = {
		[STYLE_PLAIN] = "\033[0m",
		[STYLE_BOLD] = "\033[1m",
		[STYLE_GOOD] = "\033[32m",
		[STYLE_BAD] = "\033[31m",
	};

	return sequences[style];
}

void style_picture(FILE *stream)
{
	picture = stream;
}

const char *style(FILE *stream, enum style style)
{
	const char *terminal = getenv("TERM");
	bool colour = isatty(fileno(stream)) && !getenv("NO_COLOR") &&
		      !(terminal && !strcmp(terminal, "dumb"));

	return colour || stream == picture ? style_sequence(style) : "";
}

char *format_count(char *text, size_t size, uint64_t count)
{
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	size_t at = 0;

	for (size_t i = 0; i < length && at + 2 < size; i++) {
		if (i && (length - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = '\0';
	return text;
}

void put_text(FILE *stream, const char *text)
{
	for (size_t left = strlen(text), length; left; text += length, left -= length) {
		length = escape_character(text, left);
		/* U+0080 to U+009F: some terminals treat U+009B as ESC and "[". */
		if (!length || (length == 2 && (unsigned char)text[0] == 0xc2 && (unsigned char)text[1] < 0xa0)) {
			putc('?', stream);
			length = length ?: 1;
		} else {
			fwrite(text, 1, length, stream);
		}
	}
}

void put_line(FILE *stream, const char *format, ...)
{
	_cleanup_free_ char *line = NULL;
	va_list arguments;
	int r;

	va_start(arguments, format);
	r = vasprintf(&line, format, arguments);
	va_end(arguments);
	if (r < 0)
		line = NULL;
	put_text(stream, line ?: "");
	putc('\n', stream);
}

size_t text_character(const char *text, size_t length, wchar_t *ret)
{
	mbstate_t state = { 0 };
	size_t size = mbrtowc(ret, text, length, &state);

	if (size && size <= length)
		return size;
	*ret = L'\0';
	return 1;
}

int text_columns(wchar_t character)
{
	/* These change the direction of what follows, beyond the end of the name that they are in. */
	if ((character >= 0x202a && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069))
		return -1;
	return character ? wcwidth(character) : -1;
}

int text_width(const char *text)
{
	size_t left = strlen(text), length;
	int width = 0, columns;
	wchar_t character;

	for (; left; text += length, left -= length) {
		length = text_character(text, left, &character);
		columns = text_columns(character);
		width += columns < 0 ? 1 : columns;
	}
	return width;
}

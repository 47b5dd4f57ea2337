// SPDX-License-Identifier: GPL-2.0-or-later
#include "mount_line.h"

#include <stdio.h>
#include <string.h>

enum { WORDS = 6 }; /* fields before the optional ones */

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Replaces "\040" by a space, etc. Returns the text, or "" for NULL. */
static const char *unescape(char *text)
{
	char *to = text;

	for (const char *from = text; from && *from;) {
		if (from[0] == '\\' && is_octal(from[1]) && is_octal(from[2]) && is_octal(from[3])) {
			*to++ = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	if (to)
		*to = '\0';
	return text ?: "";
}

/* Returns the text after the optional fields and the dash that ends them. */
static char *after_optional(char *rest)
{
	char *dash;

	if (!rest || !strncmp(rest, "- ", 2))
		return rest ? rest + 2 : NULL;
	dash = strstr(rest, " - ");
	return dash ? dash + 3 : NULL;
}

/* A line is "36 35 98:0 /root /mnt rw,noatime shared:1 - ext4 /dev/root rw". */
bool mount_line_read(char *line, struct mount_line *ret)
{
	char *words[WORDS], *rest = line, *tail;
	unsigned long long number;

	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < WORDS; i++)
		if (!(words[i] = strsep(&rest, " ")))
			return false;
	tail = after_optional(rest);
	if (!tail || sscanf(words[0], "%llu", &number) != 1 ||
	    sscanf(words[2], "%u:%u", &ret->major, &ret->minor) != 2)
		return false;
	ret->number = number;
	ret->point = unescape(words[4]);
	ret->options = words[5];
	ret->type = unescape(strsep(&tail, " "));
	ret->source = unescape(strsep(&tail, " "));
	return true;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* ck_assert() outside of the Check library's runner, which forks for each test: what does not hold ends the process. */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void _mark_point(const char *file, int line)
{
	(void)file, (void)line;
}

void _ck_assert_failed(const char *file, int line, const char *expression, const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%s:%d: %s: ", file, line, expression);
	if (format) {
		va_start(arguments, format);
		vfprintf(stderr, format, arguments);
		va_end(arguments);
	}
	fputc('\n', stderr);
	abort();
}

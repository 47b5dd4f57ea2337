// SPDX-License-Identifier: GPL-2.0-or-later
#include "filter_error.h"

#include <stdarg.h>
#include <stdio.h>

int filter_fail(struct filter_error *error, int r, const char *parameter, const char *format, ...)
{
	va_list arguments;

	error->parameter = parameter;
	va_start(arguments, format);
	vsnprintf(error->message, sizeof(error->message), format, arguments);
	va_end(arguments);
	return r;
}

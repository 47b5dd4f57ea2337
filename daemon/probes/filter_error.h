/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a filter cannot be set: the parameter at fault ("" if none is) and a sentence. */
#pragma once

struct filter_error {
	const char *parameter;
	char message[512];
};

/* Fills it in and returns `r`. */
int filter_fail(struct filter_error *error, int r, const char *parameter, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

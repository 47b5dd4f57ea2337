/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The golden files of the streams: in the clear, and anonymised with GOLDEN_KEY. */
#pragma once

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anonymize.h"
#include "schema.h"

enum { GOLDEN_SIZE = 65536 };

static inline struct iotr_anonymizer *golden_anonymizer(uint8_t key[IOTR_ANONYMIZE_KEY_SIZE])
{
	struct iotr_anonymizer *anonymizer;

	for (size_t i = 0; i < IOTR_ANONYMIZE_KEY_SIZE; i++)
		key[i] = (uint8_t)i;
	ck_assert_int_eq(iotr_anonymizer_new(key, &anonymizer), 0);
	return anonymizer;
}

static inline void golden_path(char path[4096], enum iotr_stream stream, const char *ending)
{
	snprintf(path, 4096, GOLDEN_FOLDER "/%s%s", iotr_schemas[stream].flag, ending);
}

/* The whole file, ended by a NUL. */
static inline void golden_read(enum iotr_stream stream, const char *ending, char text[GOLDEN_SIZE])
{
	char path[4096];
	FILE *file;

	golden_path(path, stream, ending);
	file = fopen(path, "re");
	ck_assert_msg(file, "%s", path);
	text[fread(text, 1, GOLDEN_SIZE - 1, file)] = '\0';
	fclose(file);
}

/* With IOTRACER_UPDATE_GOLDEN set the file is written anew; what changed is for a reader to judge. */
static inline void golden_compare(enum iotr_stream stream, const char *ending, const char *actual)
{
	static char expected[GOLDEN_SIZE];
	char path[4096];
	FILE *file;

	if (getenv("IOTRACER_UPDATE_GOLDEN")) {
		golden_path(path, stream, ending);
		file = fopen(path, "we");
		ck_assert_ptr_nonnull(file);
		fputs(actual, file);
		fclose(file);
	}
	golden_read(stream, ending, expected);
	ck_assert_str_eq(actual, expected);
}

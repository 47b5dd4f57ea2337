/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of segments, the files of a stream: FOLDER_NNNNNN.csv or .jsonl in the stream's folder, the number with at
 * least six digits, followed by an ending that tells the state of the file. Functions, usable from any thread.
 */
#pragma once

#include <stdbool.h>

#include "session_spec.h"

enum segment_ending {
	SEGMENT_PLAIN,	     /* none: closed */
	SEGMENT_PACKED,	     /* .gz: closed and compressed */
	SEGMENT_PART,	     /* .part: being written */
	SEGMENT_PACKED_PART, /* .gz.part: being compressed; the closed file is still there */
	SEGMENT_ENDINGS,
};

extern const char *const segment_endings[SEGMENT_ENDINGS];

/* Sizes with the NUL, of a name without an ending and of one with any. */
enum {
	SEGMENT_NAME_MAX = 64,
	SEGMENT_FILE_MAX = SEGMENT_NAME_MAX + sizeof(".gz.part") - 1,
};

struct segment_name {
	char name[SEGMENT_NAME_MAX]; /* without the ending */
	unsigned int number;
	enum iotr_format format;
	enum segment_ending ending;
};

/* Writes the name without an ending. The folder is one of the catalogue. */
void segment_name_format(char name[SEGMENT_NAME_MAX], const char *folder, unsigned int number,
			 enum iotr_format format);

/* Takes the ending off the name or the path of a file; returns which it was. */
enum segment_ending segment_name_strip(char *name);

/* Parses the name of a file. False: no segment of that folder is called so; `ret` is undefined. */
bool segment_name_parse(const char *folder, const char *file, struct segment_name *ret);

// SPDX-License-Identifier: GPL-2.0-or-later
#include "segment_mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void segment_mark_format(char mark[SEGMENT_MARK_MAX], const char *name, uint64_t rows, uint64_t bytes, enum iotr_removal limit)
{
	snprintf(mark, SEGMENT_MARK_MAX, ".%s.%" PRIu64 ".%" PRIu64 ".%s", name, rows, bytes, iotr_removal_keys[limit]);
}

/* Takes the last part of a name. NULL: it has no more. */
static const char *take_last(char *name)
{
	char *dot = strrchr(name, '.');

	if (!dot || dot == name)
		return NULL;
	*dot = '\0';
	return dot + 1;
}

/* What is accepted is what would be written. */
bool segment_mark_parse(const char *folder, const char *file, struct segment_mark *ret)
{
	char name[SEGMENT_MARK_MAX], again[SEGMENT_MARK_MAX];
	const char *limit, *bytes, *rows;

	if (*file != '.' || strlen(file) >= sizeof(name))
		return false;
	strcpy(name, file);
	limit = take_last(name);
	bytes = limit ? take_last(name) : NULL;
	rows = bytes ? take_last(name) : NULL;
	if (!rows || sscanf(rows, "%" SCNu64, &ret->rows) != 1 || sscanf(bytes, "%" SCNu64, &ret->bytes) != 1 ||
	    !segment_name_parse(folder, name + 1, &ret->segment) || ret->segment.ending != SEGMENT_PLAIN)
		return false;
	ret->limit = iotr_removal_find(limit);
	segment_mark_format(again, ret->segment.name, ret->rows, ret->bytes, ret->limit);
	return !strcmp(again, file);
}

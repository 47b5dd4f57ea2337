// SPDX-License-Identifier: GPL-2.0-or-later
#include "segment_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const segment_endings[SEGMENT_ENDINGS] = {
	[SEGMENT_PLAIN] = "",
	[SEGMENT_PACKED] = ".gz",
	[SEGMENT_PART] = ".part",
	[SEGMENT_PACKED_PART] = ".gz.part",
};

void segment_name_format(char name[SEGMENT_NAME_MAX], const char *folder, unsigned int number,
			 enum iotr_format format)
{
	snprintf(name, SEGMENT_NAME_MAX, "%s_%06u.%s", folder, number, iotr_format_names[format]);
}

enum segment_ending segment_name_strip(char *name)
{
	size_t length = strlen(name);

	/* The longest first, as it ends in a shorter one. */
	for (unsigned int ending = SEGMENT_ENDINGS - 1; ending > SEGMENT_PLAIN; ending--) {
		size_t size = strlen(segment_endings[ending]);

		if (length > size && !strcmp(name + length - size, segment_endings[ending])) {
			name[length - size] = '\0';
			return (enum segment_ending)ending;
		}
	}
	return SEGMENT_PLAIN;
}

/* What is accepted is what would be written: the number is read, and the name made of it compared. */
bool segment_name_parse(const char *folder, const char *file, struct segment_name *ret)
{
	char stripped[SEGMENT_FILE_MAX], *number = stripped + strlen(folder) + 1;

	if (strlen(folder) + sizeof("_4294967295.jsonl") > SEGMENT_NAME_MAX || strlen(file) >= sizeof(stripped))
		return false;
	strcpy(stripped, file);
	ret->ending = segment_name_strip(stripped);
	if (strlen(stripped) <= strlen(folder))
		return false;
	ret->number = (unsigned int)strtoul(number, NULL, 10);
	for (ret->format = 0; ret->format < IOTR_FORMAT_COUNT; ret->format++) {
		segment_name_format(ret->name, folder, ret->number, ret->format);
		if (!strcmp(ret->name, stripped))
			return true;
	}
	return false;
}

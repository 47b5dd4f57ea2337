// SPDX-License-Identifier: GPL-2.0-or-later
#include "two_names.h"

#include <string.h>

#include "path.h"

#define ARROW " -> "

bool two_names(const struct iotr_record *record)
{
	uint8_t operation = record->operation;

	switch (record->stream) {
	case IOTR_VFS:
		return operation == IOTR_VFS_RENAME || operation == IOTR_VFS_LINK || operation == IOTR_VFS_SYMLINK ||
		       operation == IOTR_VFS_MOUNT;
	case IOTR_IOURING:
		return operation == IOTR_IOURING_RENAMEAT || operation == IOTR_IOURING_LINKAT ||
		       operation == IOTR_IOURING_SYMLINKAT;
	default:
		return false;
	}
}

static char *put_side(char *at, const struct row_text *path)
{
	return path->length ? mempcpy(at, path->text, path->length) : mempcpy(at, PATH_UNKNOWN, strlen(PATH_UNKNOWN));
}

size_t two_names_join(const struct row *row, char *text)
{
	char *at = text;

	if (!row->path.length && !row->path2.length)
		return 0;
	at = put_side(at, &row->path);
	at = mempcpy(at, ARROW, strlen(ARROW));
	at = put_side(at, &row->path2);
	return (size_t)(at - text);
}

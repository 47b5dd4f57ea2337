// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/action.h"

static const struct {
	enum iotr_stream stream;
	const char *operation;
	enum export_action action;
} actions[] = {
	{ IOTR_VFS, "READ", EXPORT_READ },
	{ IOTR_VFS, "WRITE", EXPORT_WRITE },
	{ IOTR_VFS, "DIO_READ", EXPORT_READ },
	{ IOTR_VFS, "DIO_WRITE", EXPORT_WRITE },
	{ IOTR_VFS, "FSYNC", EXPORT_SYNC },
	{ IOTR_VFS, "FDATASYNC", EXPORT_DATASYNC },
	{ IOTR_BLOCK, "READ", EXPORT_READ },
	{ IOTR_BLOCK, "WRITE", EXPORT_WRITE },
	{ IOTR_BLOCK, "ZONE_APPEND", EXPORT_APPEND },
	{ IOTR_BLOCK, "DISCARD", EXPORT_DISCARD },
	{ IOTR_BLOCK, "FLUSH", EXPORT_SYNC },
};

enum export_action export_action(const struct export_row *row)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (actions[i].stream == row->stream && trace_text_is(row->operation, actions[i].operation))
			return actions[i].action;
	return EXPORT_OTHER;
}

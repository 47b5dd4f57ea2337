/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an operation does, for formats that tell no more of one than this. Pure functions. */
#pragma once

#include "export/row.h"

enum export_action {
	EXPORT_READ,
	EXPORT_WRITE,
	EXPORT_APPEND, /* a write of which only the disk knows where */
	EXPORT_SYNC,
	EXPORT_DATASYNC,
	EXPORT_DISCARD,
	EXPORT_ACTIONS,
	EXPORT_OTHER = EXPORT_ACTIONS,
};

enum export_action export_action(const struct export_row *row);

// SPDX-License-Identifier: GPL-2.0-or-later
#include "session.h"

#include <stdlib.h>
#include <string.h>

const char *const iotr_format_names[IOTR_FORMAT_COUNT] = {
	[IOTR_FORMAT_CSV] = "csv",
	[IOTR_FORMAT_JSONL] = "jsonl",
};

void iotr_session_spec_done(struct iotr_session_spec *spec)
{
	free(spec->pids);
	free(spec->commands);
	free(spec->uids);
	free(spec->devices);
	memset(spec, 0, sizeof(*spec));
}

bool iotr_session_name_valid(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t length = strlen(name);

	return length > 0 && length <= IOTR_SESSION_NAME_MAX && name[0] != '.' && name[0] != '-' &&
	       strspn(name, allowed) == length;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "command_line/find_verb.h"

#include <string.h>

#include "nearest.h"
#include "output/complain.h"

const struct verb *find_verb(const struct context *context, const char *name)
{
	struct iotr_nearest nearest = { .word = name };

	for (const struct verb *const *verb = context->verbs; *verb; verb++) {
		if (!strcmp((*verb)->name, name))
			return *verb;
		iotr_nearest_try(&nearest, (*verb)->name);
	}
	if (nearest.best)
		complain_usage_of(context, "verb", "there is no verb '%s': did you mean '%s'?", name, nearest.best);
	else
		complain_usage_of(context, "verb", "there is no verb '%s': 'iotracectl help' shows them", name);
	return NULL;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/hooks.h"

#include <stddef.h>

static const struct hook hooks[] = {
#define HOOK(stream, operation, program, text) { IOTR_##stream, operation, program, text },
	IOTR_HOOKS(HOOK)
};

#define HOOKS (sizeof(hooks) / sizeof(hooks[0]))

const struct hook *hooks_find(enum iotr_stream stream, unsigned int operation,
			      bool (*loaded)(const char *program, const void *userdata),
			      const void *userdata, const char **reason)
{
	bool own = false;

	for (size_t i = 0; i < HOOKS && !own; i++)
		own = hooks[i].stream == stream && hooks[i].operation == operation;
	*reason = NULL;
	for (size_t i = 0; i < HOOKS; i++) {
		if (hooks[i].stream != stream || hooks[i].operation != (own ? operation : HOOKS_ANY))
			continue;
		if (loaded(hooks[i].program, userdata))
			return &hooks[i];
		*reason = "the kernel lacks or refuses the hooks of this operation";
	}
	if (!*reason)
		*reason = "no hook of this kernel shows this operation";
	return NULL;
}

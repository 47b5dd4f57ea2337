// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define EMPTY UINT32_MAX
#define SLOTS_MIN 1024

static uint32_t *slot_of(const struct export_names *names, struct trace_text text)
{
	size_t at = XXH3_64bits(text.at, text.length) & (names->slot_count - 1);

	for (;; at = (at + 1) & (names->slot_count - 1)) {
		uint32_t *slot = &names->slots[at];

		if (*slot == EMPTY || (!strncmp(names->texts[*slot], text.at, text.length) &&
				       !names->texts[*slot][text.length]))
			return slot;
	}
}

/* Makes room, so that at most half of the slots are taken. */
static int grow(struct export_names *names)
{
	size_t slot_count = names->slot_count ? 2 * names->slot_count : SLOTS_MIN;
	uint32_t *slots = malloc(slot_count * sizeof(*slots));
	char **texts = slots ? reallocarray(names->texts, slot_count / 2, sizeof(*texts)) : NULL;

	if (!texts) {
		free(slots);
		return -ENOMEM;
	}
	free(names->slots);
	names->slots = slots;
	names->texts = texts;
	names->slot_count = slot_count;
	memset(slots, 0xff, slot_count * sizeof(*slots));
	for (size_t i = 0; i < names->count; i++)
		*slot_of(names, (struct trace_text){ texts[i], strlen(texts[i]) }) = (uint32_t)i;
	return 0;
}

int64_t export_names_number(struct export_names *names, struct trace_text text, size_t most)
{
	uint32_t *slot;
	char *copy;

	/* A NUL in a file that somebody made ends the text. */
	text.length = strnlen(text.at, text.length);
	if (2 * names->count >= names->slot_count && grow(names) < 0)
		return -ENOMEM;
	slot = slot_of(names, text);
	if (*slot != EMPTY)
		return *slot;
	if (names->count >= most)
		return -E2BIG;
	copy = strndup(text.at, text.length);
	if (!copy)
		return -ENOMEM;
	names->texts[names->count] = copy;
	*slot = (uint32_t)names->count;
	return (int64_t)names->count++;
}

void export_names_done(struct export_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->texts[i]);
	free(names->texts);
	free(names->slots);
	*names = (struct export_names){ 0 };
}

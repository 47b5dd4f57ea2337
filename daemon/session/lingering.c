// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/lingering.h"

#include <stddef.h>

/* If there are too many, this waits for the writer to give up. */
void lingering_add(struct lingering *lingering, struct writer *writer)
{
	for (size_t i = 0; i < IOTR_SESSIONS_MAX && !writer_finished(writer); i++)
		if (!lingering->writers[i]) {
			lingering->writers[i] = writer;
			return;
		}
	writer_free(writer);
}

void lingering_sweep(struct lingering *lingering)
{
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (lingering->writers[i] && writer_finished(lingering->writers[i])) {
			writer_free(lingering->writers[i]);
			lingering->writers[i] = NULL;
		}
}

bool lingering_end(struct lingering *lingering, uint64_t until_ns)
{
	bool ended = true;

	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++) {
		struct writer *writer = lingering->writers[i];

		if (writer && writer_finish_until(writer, until_ns))
			writer_free(writer);
		else if (writer)
			ended = false;
		lingering->writers[i] = NULL;
	}
	return ended;
}

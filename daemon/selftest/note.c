// SPDX-License-Identifier: GPL-2.0-or-later
#include "selftest/note.h"

#include <stdlib.h>
#include <unistd.h>

static void say(const struct selftest_note *note)
{
	if (write(STDOUT_FILENO, note, sizeof(*note)) < 0)
		_exit(EXIT_FAILURE); /* the reader has gone */
}

void selftest_note(enum iotr_stream stream, unsigned int operation, bool done, bool sure)
{
	if (done)
		say(&(struct selftest_note){ stream, operation, sure });
}

void selftest_note_itself(enum selftest_itself what)
{
	say(&(struct selftest_note){ SELFTEST_ITSELF, what, true });
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "selftest/selftest.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "outside.h"
#include "selftest/note.h"
#include "selftest/parts.h"

/* Takes the place of a process that the daemon would start. */
static bool take_over(void)
{
	int fds[SELFTEST_DESCRIPTORS];
	char byte;

	if (outside_take_order(&byte, sizeof(byte), fds, SELFTEST_DESCRIPTORS) < 0 ||
	    fchdir(fds[SELFTEST_FOLDER]) < 0 || outside_send(STDIN_FILENO, &byte, sizeof(byte), NULL, 0) < 0)
		return false;
	return dup2(fds[SELFTEST_GO], STDIN_FILENO) >= 0 && dup2(fds[SELFTEST_NOTES], STDOUT_FILENO) >= 0;
}

static bool enter(const char *folder)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return chdir(folder) == 0;
}

int selftest_main(const char *folder)
{
	char begin;

	prctl(PR_SET_NAME, SELFTEST_COMMAND);
	if (!(folder ? enter(folder) : take_over()))
		return EXIT_FAILURE;
	alarm(SELFTEST_SECONDS);
	if (read(STDIN_FILENO, &begin, 1) != 1)
		return EXIT_FAILURE;
	selftest_files();
	selftest_ring();
	selftest_sockets(); /* last, as it waits for a timer of the kernel */
	selftest_note_itself(SELFTEST_ENDED);
	return EXIT_SUCCESS;
}

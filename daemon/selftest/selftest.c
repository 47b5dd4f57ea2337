// SPDX-License-Identifier: GPL-2.0-or-later
#include "selftest/selftest.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "selftest/parts.h"

int selftest_main(const char *folder)
{
	char begin;

	prctl(PR_SET_NAME, SELFTEST_COMMAND);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(SELFTEST_SECONDS);
	if (read(STDIN_FILENO, &begin, 1) != 1 || chdir(folder) < 0)
		return EXIT_FAILURE;
	selftest_files();
	selftest_ring();
	selftest_sockets(); /* last, as it waits for a timer of the kernel */
	return EXIT_SUCCESS;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

static volatile sig_atomic_t came;

static void on_interrupt(int number)
{
	(void)number;
	came = 1;
}

/* Without SA_RESTART, so that waiting for the daemon ends with -EINTR. */
void interrupt_catch(void)
{
	struct sigaction action = { .sa_handler = on_interrupt };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

bool interrupt_came(void)
{
	return came;
}

/*
 * The signals are blocked until ppoll() unblocks them, so that none is missed between the check and the sleep.
 */
void interrupt_sleep(uint64_t ns)
{
	struct timespec time = { .tv_sec = (time_t)(ns / 1000000000),
				 .tv_nsec = (long)(ns % 1000000000) };
	sigset_t block, before;

	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigprocmask(SIG_BLOCK, &block, &before);
	if (!came)
		ppoll(NULL, 0, &time, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "thread.h"

#include <signal.h>

int thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

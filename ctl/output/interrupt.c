// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

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

void interrupt_hold(bool hold)
{
	sigset_t ending;

	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGHUP);
	sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &ending, NULL);
}

void interrupt_block_resize(void)
{
	sigset_t block;

	sigemptyset(&block);
	sigaddset(&block, SIGWINCH);
	sigprocmask(SIG_BLOCK, &block, NULL);
}

bool interrupt_came(void)
{
	return came;
}

/* What has happened, by what ppoll() returned. */
static enum interrupt_event judge(int r, const struct pollfd polled[2])
{
	if (came || (polled[1].revents & (POLLHUP | POLLERR | POLLNVAL)))
		return INTERRUPT_CAME;
	if (r == 0)
		return INTERRUPT_TIME;
	/* Of the signals that end it, SIGWINCH alone is none of those that have come: it is a key to curses. */
	return r < 0 || polled[1].revents ? INTERRUPT_KEY : INTERRUPT_REPLY;
}

/*
 * The signals are blocked until ppoll() unblocks them, so that none is missed between the check and the sleep. A size that
 * changed since the last key was asked for is not missed either, as SIGWINCH comes here alone.
 */
enum interrupt_event interrupt_wait(bool keys, int fd, uint64_t ns)
{
	struct timespec time = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };
	struct pollfd polled[2] = { { .fd = fd, .events = POLLIN },
				    { .fd = keys ? STDIN_FILENO : -1, .events = POLLIN } };
	sigset_t block, before, waiting;
	int r;

	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigprocmask(SIG_BLOCK, &block, &before);
	waiting = before;
	sigdelset(&waiting, SIGWINCH);
	r = came ? -1 : ppoll(polled, 2, ns ? &time : NULL, &waiting);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return judge(r, polled);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/pager.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pager;

static const char *command(void)
{
	const char *chosen = getenv("IOTRACER_PAGER") ?: getenv("PAGER") ?: "less";

	return !*chosen || !strcmp(chosen, "cat") ? NULL : chosen;
}

/* Never returns. Names in rows must not make it run commands, nor the user by accident as root. */
static void run(const char *chosen, int from)
{
	dup2(from, STDIN_FILENO);
	setenv("LESS", "FRSXMK", 0);
	setenv("LESSSECURE", "1", 1);
	execlp("sh", "sh", "-c", chosen, NULL);
	_exit(127);
}

void pager_begin(void)
{
	const char *chosen = command();
	int ends[2];

	if (!chosen || !isatty(STDOUT_FILENO) || pipe(ends) < 0)
		return;
	fflush(stdout);
	pager = fork();
	if (!pager) {
		close(ends[1]);
		run(chosen, ends[0]);
	}
	close(ends[0]);
	if (pager > 0) {
		dup2(ends[1], STDOUT_FILENO);
		signal(SIGPIPE, SIG_IGN); /* who leaves the pager early has seen enough */
		signal(SIGINT, SIG_IGN);  /* the pager decides what Ctrl-C does */
	}
	close(ends[1]);
}

void pager_end(void)
{
	if (pager <= 0)
		return;
	fflush(stdout);
	close(STDOUT_FILENO);
	while (waitpid(pager, NULL, 0) < 0)
		continue;
	pager = 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "remains.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "files.h"
#include "thread.h"

#define MOMENT_MS    40 /* for the process to end after a kill, and for its files to be removed */
#define REMOVALS_MAX 64

static _Atomic unsigned int removals; /* threads that remove files */

struct removal {
	struct remains of; /* with descriptors of its own */
	int done;	   /* closed when they are removed */
};

static void removal_free(struct removal *removal)
{
	closep(&removal->of.output_fd);
	closep(&removal->of.process);
	closep(&removal->done);
	free(removal);
}

/* Removes the files after the end of the process. */
static void *run(void *userdata)
{
	struct removal *removal = userdata;
	const struct remains *of = &removal->of;
	struct pollfd gone = { .fd = of->process, .events = POLLIN };
	const struct rights *before;

	poll(&gone, 1, -1);
	before = rights_use(&of->writes);
	files_remove_parts(of->output_fd, of->kind, of->number);
	rights_use(before);
	removal_free(removal);
	atomic_fetch_sub(&removals, 1);
	return NULL;
}

/* Starts the thread. Returns the end of a pipe whose other end is closed when it is done; -1: it was not started. */
static int begin(struct removal *removal)
{
	_cleanup_close_ int ours = -1;
	pthread_t thread;
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -1;
	ours = pair[0];
	removal->done = pair[1];
	if (removal->of.output_fd < 0 || removal->of.process < 0 || atomic_load(&removals) >= REMOVALS_MAX)
		return -1;
	atomic_fetch_add(&removals, 1);
	if (thread_start(&thread, run, removal) < 0) {
		atomic_fetch_sub(&removals, 1);
		return -1;
	}
	pthread_detach(thread);
	return take_fd(&ours);
}

bool remains_remove(const struct remains *remains)
{
	struct removal *removal = malloc(sizeof(*removal));
	struct pollfd done = { .events = POLLIN };

	if (!removal)
		return false;
	*removal = (struct removal){ .of = *remains, .done = -1 };
	removal->of.output_fd = fcntl(remains->output_fd, F_DUPFD_CLOEXEC, 0);
	removal->of.process = fcntl(remains->process, F_DUPFD_CLOEXEC, 0);
	done.fd = begin(removal);
	if (done.fd < 0) {
		removal_free(removal);
		return false;
	}
	poll(&done, 1, MOMENT_MS);
	close(done.fd);
	return true;
}

void snapshot_removals_end(uint64_t until_ns)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	while (atomic_load(&removals) && clock_ns(CLOCK_MONOTONIC) < until_ns)
		nanosleep(&moment, NULL);
}

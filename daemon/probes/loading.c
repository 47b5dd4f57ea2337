// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/loading.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

#include "log.h"
#include "probes/bequeath.h"
#include "probes/bio_ends.h"
#include "probes/changes.h"
#include "probes/inherit.h"
#include "probes/probes_private.h"
#include "thread.h"

#define END_MS 50 /* time that the end gives to the thread for the object that it is loading */

struct loading {
	pthread_t thread;
	sd_event_source *source;
	struct loading_wait *waiting;
	_Atomic uint32_t hurry; /* mask of objects that are waited for */
	_Atomic bool cancel, over;
};

/* The object to load next: one that is waited for, otherwise the first that is left. OBJECT_COUNT: there is none. */
static enum object next_object(const struct probes *probes, uint32_t hurry)
{
	uint32_t left = ~atomic_load(&probes->settled) & OBJECTS_ALL;

	if (left & hurry)
		left &= hurry;
	return left ? (enum object)__builtin_ctz(left) : OBJECT_COUNT;
}

static void *load(void *userdata)
{
	struct probes *probes = userdata;
	struct loading *loading = probes->loading;
	enum object which;

	subvolumes_find(probes->kernel.btf, probes->page);
	while (!atomic_load(&loading->cancel) &&
	       (which = next_object(probes, atomic_load(&loading->hurry))) < OBJECT_COUNT) {
		object_settle(probes, which);
		eventfd_write(probes->notice, 1);
		if (which == OBJECT_VFS && !probes->page->changes.rcu_state)
			changes_find(probes->symbols, probes->page); /* rows are the same without it, and nobody waits for it */
	}
	if (!atomic_load(&loading->cancel)) {
		bequeath(probes);
		inherit_end(probes);
		kernel_leave(&probes->kernel);
	}
	malloc_trim(0); /* what only loading needed goes back to the kernel */
	atomic_store(&loading->over, true);
	return NULL;
}

/* The first one whose programs are there; others may leave or join meanwhile. */
static struct loading_wait *find_done(const struct probes *probes)
{
	struct loading_wait *wait = probes->loading->waiting;

	while (wait && !(loading_done(probes, wait->groups) && !(wait->lacks & probes_lacks(probes))))
		wait = wait->next;
	return wait;
}

static int on_notice(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct probes *probes = userdata;
	struct loading_wait *wait;
	eventfd_t value;

	(void)source, (void)events;
	eventfd_read(fd, &value);
	probes_see_to(probes);
	while ((wait = find_done(probes))) {
		loading_leave(probes, wait);
		wait->loaded(wait);
	}
	return 0;
}

int loading_begin(struct probes *probes, sd_event *event)
{
	struct loading *loading = calloc(1, sizeof(*loading));
	int r;

	if (!loading)
		return -ENOMEM;
	r = sd_event_add_io(event, &loading->source, probes->notice, EPOLLIN, on_notice, probes);
	probes->loading = loading;
	if (r >= 0)
		r = thread_start(&loading->thread, load, probes);
	if (r >= 0)
		return 0;
	atomic_store(&loading->over, true);
	loading_free(probes);
	return r;
}

bool loading_free(struct probes *probes)
{
	struct loading *loading = probes->loading;
	const struct timespec moment = { .tv_nsec = 1000000 };

	if (!loading)
		return true;
	loading->source = sd_event_source_disable_unref(loading->source);
	atomic_store(&loading->cancel, true);
	for (int i = 0; i < END_MS && !atomic_load(&loading->over); i++)
		nanosleep(&moment, NULL);
	if (!atomic_load(&loading->over))
		return false;
	if (loading->thread)
		pthread_join(loading->thread, NULL);
	free(loading);
	probes->loading = NULL;
	return true;
}

void loading_now(struct probes *probes, uint32_t groups)
{
	uint32_t left = objects_of(probes, groups) & ~atomic_load(&probes->settled);

	for (; left; left &= left - 1)
		object_settle(probes, (enum object)__builtin_ctz(left));
}

bool loading_done(const struct probes *probes, uint32_t groups)
{
	return !(objects_of(probes, groups) & ~atomic_load(&probes->settled));
}

void loading_await(struct probes *probes, struct loading_wait *wait)
{
	struct loading *loading = probes->loading;
	struct loading_wait **end = &loading->waiting;

	while (*end)
		end = &(*end)->next;
	wait->next = NULL;
	*end = wait;
	if (wait->groups != LOADING_ALL)
		atomic_fetch_or(&loading->hurry, objects_of(probes, wait->groups));
	eventfd_write(probes->notice, 1); /* they may have been loaded since they were asked for */
}

void loading_leave(struct probes *probes, struct loading_wait *wait)
{
	for (struct loading_wait **at = &probes->loading->waiting; *at; at = &(*at)->next)
		if (*at == wait) {
			*at = wait->next;
			return;
		}
}

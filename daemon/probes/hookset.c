// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/hookset.h"

#include <errno.h>
#include <stdlib.h>

#define RELEASE_US 1000000 /* Hooks stay attached for this long after the last wish for them. */
#define CPUS_US	   100000  /* while page faults are recorded: how often CPUs that have come are looked for */

struct hookset {
	struct probes *probes;
	sd_event_source *release;		/* timer */
	sd_event_source *cpus;			/* timer */
	bool dirtied_held;
	unsigned int wishes[PROBES_GROUP_COUNT]; /* number of wishes that need the group */
};

uint32_t hookset_groups(const struct probes *probes, const struct hookset_wish *wish)
{
	uint32_t groups = wish->processes ? 1U << PROBES_PROCESS : 0;

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (wish->streams >> stream & 1)
			groups |= probes_stream_groups(stream);
	return probes_groups(probes, groups);
}

/*
 * The program on the end of all system calls goes on to that of CACHE, which is there by itself as long as nobody else needs
 * the first: a page that is found in memory costs the call a tenth less then, and calls never go to two programs.
 */
static bool goes_on_to_cache(const struct hookset *hookset)
{
	return hookset->wishes[PROBES_EXITS] && probes_is_attached(hookset->probes, PROBES_EXITS);
}

static bool is_needed(const struct hookset *hookset, enum probes_group group)
{
	if (group == PROBES_CACHE_EXIT && goes_on_to_cache(hookset))
		return false;
	return hookset->wishes[group] || (group == PROBES_DIRTIED && hookset->dirtied_held);
}

static int release_due(sd_event_source *source, uint64_t now, void *userdata)
{
	(void)source, (void)now;
	hookset_release(userdata);
	return 0;
}

static int cpus_due(sd_event_source *source, uint64_t now, void *userdata)
{
	struct hookset *hookset = userdata;

	(void)now;
	probes_follow_cpus(hookset->probes);
	if (is_needed(hookset, PROBES_PAGEFAULT))
		return sd_event_source_set_time_relative(source, CPUS_US);
	return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

/* Looks for CPUs that come as long as there are hooks of which each CPU has its own. */
static void follow_cpus(struct hookset *hookset)
{
	if (!is_needed(hookset, PROBES_PAGEFAULT))
		return;
	sd_event_source_set_time_relative(hookset->cpus, CPUS_US);
	sd_event_source_set_enabled(hookset->cpus, SD_EVENT_ON);
}

static int timer_new(sd_event *event, sd_event_source **ret, uint64_t time_us, sd_event_time_handler_t handler,
		     struct hookset *hookset)
{
	int r = sd_event_add_time_relative(event, ret, CLOCK_MONOTONIC, time_us, time_us / 10, handler, hookset);

	return r < 0 ? r : sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
}

int hookset_new(struct probes *probes, sd_event *event, struct hookset **ret)
{
	struct hookset *hookset = calloc(1, sizeof(*hookset));
	int r;

	if (!hookset)
		return -ENOMEM;
	hookset->probes = probes;
	r = timer_new(event, &hookset->release, RELEASE_US, release_due, hookset);
	if (r >= 0)
		r = timer_new(event, &hookset->cpus, CPUS_US, cpus_due, hookset);
	if (r < 0)
		hookset_free(hookset);
	else
		*ret = hookset;
	return r;
}

void hookset_free(struct hookset *hookset)
{
	if (!hookset)
		return;
	sd_event_source_disable_unref(hookset->release);
	sd_event_source_disable_unref(hookset->cpus);
	free(hookset);
}

bool hookset_wanted(const struct hookset *hookset)
{
	for (size_t group = 0; group < PROBES_GROUP_COUNT; group++)
		if (hookset->wishes[group])
			return true;
	return false;
}

/* What others want is attached, too: a hook of theirs that failed may succeed by now. */
void hookset_want(struct hookset *hookset, const struct hookset_wish *wish)
{
	uint32_t groups = hookset_groups(hookset->probes, wish);

	for (enum probes_group group = 0; group < PROBES_GROUP_COUNT; group++) {
		hookset->wishes[group] += groups >> group & 1;
		if (is_needed(hookset, group))
			probes_attach(hookset->probes, group);
	}
	if (goes_on_to_cache(hookset))
		probes_detach(hookset->probes, PROBES_CACHE_EXIT);
	follow_cpus(hookset);
}

void hookset_unwant(struct hookset *hookset, const struct hookset_wish *wish)
{
	uint32_t groups = hookset_groups(hookset->probes, wish);

	for (size_t group = 0; group < PROBES_GROUP_COUNT; group++)
		hookset->wishes[group] -= groups >> group & 1;
	sd_event_source_set_time_relative(hookset->release, RELEASE_US);
	sd_event_source_set_enabled(hookset->release, SD_EVENT_ONESHOT);
}

/* A call that ends meanwhile goes to both programs, never to none: the second finds nothing left to do. */
void hookset_release(struct hookset *hookset)
{
	if (is_needed(hookset, PROBES_CACHE_EXIT))
		probes_attach(hookset->probes, PROBES_CACHE_EXIT);
	for (enum probes_group group = 0; group < PROBES_GROUP_COUNT; group++)
		if (!is_needed(hookset, group))
			probes_detach(hookset->probes, group);
}

void hookset_hold_dirtied(struct hookset *hookset)
{
	hookset->dirtied_held = true;
	probes_attach(hookset->probes, PROBES_DIRTIED);
}

void hookset_drop_dirtied(struct hookset *hookset)
{
	hookset->dirtied_held = false;
	if (!hookset->wishes[PROBES_DIRTIED])
		probes_detach(hookset->probes, PROBES_DIRTIED);
}

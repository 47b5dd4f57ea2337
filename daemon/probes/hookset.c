// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/hookset.h"

#include <errno.h>
#include <stdlib.h>

#define RELEASE_US 1000000 /* Hooks stay attached for this long after the last wish for them. */

struct hookset {
	struct probes *probes;
	sd_event_source *release;		/* timer */
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

int hookset_new(struct probes *probes, sd_event *event, struct hookset **ret)
{
	struct hookset *hookset = calloc(1, sizeof(*hookset));
	int r;

	if (!hookset)
		return -ENOMEM;
	hookset->probes = probes;
	r = sd_event_add_time_relative(event, &hookset->release, CLOCK_MONOTONIC, RELEASE_US, RELEASE_US / 10,
				       release_due, hookset);
	if (r >= 0)
		r = sd_event_source_set_enabled(hookset->release, SD_EVENT_OFF);
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

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probes/hookset.h"
#include "suite.h"

#define STEPS 64

/* The kernel side: what is attached, and every change of that since the last look, as "+exits -cache" or the like. */
static struct {
	bool attached[PROBES_GROUP_COUNT];
	bool refuses[PROBES_GROUP_COUNT];
	char changes[STEPS * 8];
} probes;

static const char *name_of(enum probes_group group)
{
	return group == PROBES_EXITS ? "exits" : group == PROBES_CACHE_EXIT ? "cache" : "other";
}

static void note(enum probes_group group, bool attached)
{
	size_t length = strlen(probes.changes);

	if (probes.attached[group] != attached)
		snprintf(probes.changes + length, sizeof(probes.changes) - length, "%s%c%s", length ? " " : "",
			 attached ? '+' : '-', name_of(group));
	probes.attached[group] = attached;
}

int probes_attach(struct probes *unused, enum probes_group group)
{
	(void)unused;
	if (probes.refuses[group])
		return -ENOMEM;
	note(group, true);
	return 0;
}

void probes_detach(struct probes *unused, enum probes_group group)
{
	(void)unused;
	note(group, false);
}

void probes_follow_cpus(struct probes *unused)
{
	(void)unused;
}

bool probes_is_attached(const struct probes *unused, enum probes_group group)
{
	(void)unused;
	return probes.attached[group];
}

uint32_t probes_stream_groups(enum iotr_stream stream)
{
	return stream == IOTR_CACHE ? 1U << PROBES_CACHE_EXIT : stream == IOTR_NET ? 1U << PROBES_EXITS : 0;
}

uint32_t probes_groups(const struct probes *unused, uint32_t groups)
{
	(void)unused;
	return groups;
}

static const struct hookset_wish cache = { .streams = 1U << IOTR_CACHE }, net = { .streams = 1U << IOTR_NET };
static sd_event *event;
static struct hookset *hookset;

static void begin(void)
{
	memset(&probes, 0, sizeof(probes));
	ck_assert_int_ge(sd_event_new(&event), 0);
	ck_assert_int_ge(hookset_new(NULL, event, &hookset), 0);
}

static void end(void)
{
	hookset_free(hookset);
	sd_event_unref(event);
}

static void changed(const char *expected)
{
	ck_assert_str_eq(probes.changes, expected);
	probes.changes[0] = '\0';
}

START_TEST(end_of_calls_of_cache_alone)
{
	hookset_want(hookset, &cache);
	changed("+cache");
	hookset_unwant(hookset, &cache);
	changed("");
	hookset_release(hookset);
	changed("-cache");
}
END_TEST

/* At no moment is neither attached, or a call's end would go unseen. */
START_TEST(another_takes_over_and_gives_back)
{
	hookset_want(hookset, &cache);
	changed("+cache");
	hookset_want(hookset, &net);
	changed("+exits -cache");
	hookset_unwant(hookset, &net);
	changed("");
	hookset_release(hookset);
	changed("+cache -exits");
}
END_TEST

START_TEST(joins_another)
{
	hookset_want(hookset, &net);
	hookset_want(hookset, &cache);
	changed("+exits");
	hookset_unwant(hookset, &cache);
	hookset_release(hookset);
	changed("");
}
END_TEST

START_TEST(stays_where_another_cannot_be_attached)
{
	hookset_want(hookset, &cache);
	probes.refuses[PROBES_EXITS] = true;
	hookset_want(hookset, &net);
	changed("+cache");
	probes.refuses[PROBES_EXITS] = false;
	hookset_want(hookset, &net); /* tries it again */
	changed("+exits -cache");
}
END_TEST

START_TEST(waits_for_another_that_nobody_wants_any_more)
{
	hookset_want(hookset, &net);
	hookset_unwant(hookset, &net);
	hookset_want(hookset, &cache);
	changed("+exits +cache");
	hookset_release(hookset);
	changed("-exits");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, end_of_calls_of_cache_alone);
	tcase_add_test(tests, another_takes_over_and_gives_back);
	tcase_add_test(tests, joins_another);
	tcase_add_test(tests, stays_where_another_cannot_be_attached);
	tcase_add_test(tests, waits_for_another_that_nobody_wants_any_more);
}

int main(void)
{
	return run_suite("hookset", add);
}

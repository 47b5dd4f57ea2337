// SPDX-License-Identifier: GPL-2.0-or-later
#include "privilege.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/capability.h>
#include <unistd.h>

#include "cleanup.h"
#include "privilege.def"

#define NUMBER(capability, reason) capability,
static const cap_value_t needed[] = { IOTR_CAPABILITIES(NUMBER) CAP_SYS_NICE };

static void free_capabilities(cap_t *set)
{
	cap_free(*set);
}

/* How many of the array are kept. */
static size_t needed_count(bool nice)
{
	return sizeof(needed) / sizeof(needed[0]) - !nice;
}

static bool is_needed(cap_value_t capability, bool nice)
{
	for (size_t i = 0; i < needed_count(nice); i++)
		if (needed[i] == capability)
			return true;
	return false;
}

/*
 * The bounding set is the limit of what a program started by root gets, so without this a child would have
 * everything again. Where systemd has reduced it already, the right to change it is missing, and not needed.
 */
static int reduce_bounding_set(bool nice)
{
	for (cap_value_t one = 0; one < cap_max_bits(); one++)
		if (!is_needed(one, nice) && cap_get_bound(one) > 0 && cap_drop_bound(one) < 0)
			return -errno;
	return 0;
}

/* Of the needed ones those that the process has. Nothing is inheritable, which would survive an execve(). */
static int reduce_own(bool nice)
{
	_cleanup_(free_capabilities) cap_t before = cap_get_proc();
	_cleanup_(free_capabilities) cap_t after = cap_init();

	if (!before || !after)
		return -errno;
	for (size_t i = 0; i < needed_count(nice); i++) {
		cap_flag_value_t permitted = CAP_CLEAR;

		/* A kernel before 5.8 does not know all of them. */
		if (cap_get_flag(before, needed[i], CAP_PERMITTED, &permitted) < 0 || permitted == CAP_CLEAR)
			continue;
		if (cap_set_flag(after, CAP_PERMITTED, 1, &needed[i], CAP_SET) < 0 ||
		    cap_set_flag(after, CAP_EFFECTIVE, 1, &needed[i], CAP_SET) < 0)
			return -errno;
	}
	return cap_set_proc(after) < 0 ? -errno : 0;
}

int privilege_reduce(bool nice)
{
	int bounding = geteuid() ? 0 : reduce_bounding_set(nice); /* others than root get nothing by execve() */
	int own = reduce_own(nice);

	return bounding < 0 ? bounding : own;
}

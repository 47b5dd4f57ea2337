// SPDX-License-Identifier: GPL-2.0-or-later
#include "rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"

#define SETS 2 /* two words of 32 capabilities */

struct capabilities {
	struct __user_cap_data_struct sets[SETS];
};

/* The groups with which the program began. */
static struct {
	gid_t *groups;
	size_t count;
} own;

static _Thread_local const struct rights *current;
static _Thread_local struct capabilities kept; /* the thread's capabilities while it has a user's rights */

__attribute__((noreturn)) static void give_up(const char *what)
{
	fprintf(stderr, "<2>cannot change the rights of a thread: %s: %s\n", what, strerror(errno));
	abort();
}

__attribute__((constructor)) static void read_own(void)
{
	int count = getgroups(0, NULL);

	if (count <= 0)
		return;
	own.groups = calloc((size_t)count, sizeof(*own.groups));
	count = own.groups ? getgroups(count, own.groups) : -1;
	if (count < 0)
		give_up("getgroups");
	own.count = (size_t)count;
}

/* A direct system call, as the C library's function would change all threads. */
static void set_groups(size_t count, const gid_t *groups)
{
	if (syscall(SYS_setgroups, count, groups) < 0)
		give_up("setgroups");
}

/*
 * setfsuid(2) and setfsgid(2) report no error but return the previous value. So the result is checked by a
 * second call with -1, which is invalid and changes nothing.
 */
static void set_user(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	if ((uid_t)setfsuid((uid_t)-1) != uid || (gid_t)setfsgid((gid_t)-1) != gid) {
		errno = EPERM;
		give_up("setfsuid");
	}
}

static void capability_call(long number, struct capabilities *capabilities)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	if (syscall(number, &header, capabilities->sets) < 0)
		give_up("capabilities");
}

/* The capabilities stay permitted, so that they can be made effective again. */
static void drop_capabilities(void)
{
	struct capabilities few;

	capability_call(SYS_capget, &kept);
	few = kept;
	for (size_t i = 0; i < SETS; i++)
		few.sets[i].effective = 0;
	few.sets[CAP_TO_INDEX(CAP_SYS_NICE)].effective =
		kept.sets[CAP_TO_INDEX(CAP_SYS_NICE)].effective & CAP_TO_MASK(CAP_SYS_NICE);
	capability_call(SYS_capset, &few);
}

static void restore_own(void)
{
	if (current->limited) {
		capability_call(SYS_capset, &kept);
		set_groups(own.count, own.groups);
	}
	set_user(geteuid(), getegid());
}

static void apply_rights(const struct rights *rights)
{
	if (!rights->limited) {
		set_user(geteuid(), rights->gid);
		return;
	}
	set_groups(rights->count, rights->groups);
	set_user(rights->uid, rights->gid);
	drop_capabilities();
}

const struct rights *rights_use(const struct rights *rights)
{
	const struct rights *before = current;

	if (rights == before)
		return before;
	if (before)
		restore_own();
	if (rights)
		apply_rights(rights);
	current = rights;
	return before;
}

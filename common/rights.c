// SPDX-License-Identifier: GPL-2.0-or-later
#include "rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
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

/* User, group and groups with which the program began. */
static struct {
	uid_t uid;
	gid_t gid;
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

	own.uid = geteuid();
	own.gid = getegid();
	if (count <= 0)
		return;
	own.groups = calloc((size_t)count, sizeof(*own.groups));
	count = own.groups ? getgroups(count, own.groups) : -1;
	if (count < 0)
		give_up("getgroups");
	own.count = (size_t)count;
}

/* Direct system calls, as the C library's functions would change all threads. */
static void set_groups(size_t count, const gid_t *groups)
{
	if (syscall(SYS_setgroups, count, groups) < 0)
		give_up("setgroups");
}

/* The file-system user and group follow these two. */
static void set_effective_user(uid_t uid)
{
	if (syscall(SYS_setresuid, (uid_t)-1, uid, (uid_t)-1) < 0)
		give_up("setresuid");
}

static void set_effective_group(gid_t gid)
{
	if (syscall(SYS_setresgid, (gid_t)-1, gid, (gid_t)-1) < 0)
		give_up("setresgid");
}

/*
 * The group of new files alone. setfsgid(2) reports no error but returns the previous value. So the result is checked by a
 * second call with -1, which is invalid and changes nothing.
 */
static void set_file_group(gid_t gid)
{
	setfsgid(gid);
	if ((gid_t)setfsgid((gid_t)-1) != gid) {
		errno = EPERM;
		give_up("setfsgid");
	}
}

static void capability_call(long number, struct capabilities *capabilities)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	if (syscall(number, &header, capabilities->sets) < 0)
		give_up("capabilities");
}

/* Those that are permitted stay so, that they can be made effective again; none does anything for the thread meanwhile. */
static void drop_capabilities(void)
{
	struct capabilities few = kept;

	for (size_t i = 0; i < SETS; i++)
		few.sets[i].effective = 0;
	few.sets[CAP_TO_INDEX(CAP_SYS_NICE)].effective =
		kept.sets[CAP_TO_INDEX(CAP_SYS_NICE)].effective & CAP_TO_MASK(CAP_SYS_NICE);
	capability_call(SYS_capset, &few);
}

/* The user comes first, as with him the thread may change the rest. */
static void restore_own(void)
{
	if (!current->limited) {
		set_file_group(own.gid);
		return;
	}
	set_effective_user(own.uid);
	capability_call(SYS_capset, &kept);
	set_groups(own.count, own.groups);
	set_effective_group(own.gid);
}

static void apply_rights(const struct rights *rights)
{
	if (!rights->limited) {
		set_file_group(rights->gid);
		return;
	}
	set_groups(rights->count, rights->groups);
	set_effective_group(rights->gid);
	capability_call(SYS_capget, &kept);
	set_effective_user(rights->uid);
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

bool rights_in_use(void)
{
	return !rights_full(current);
}

void rights_forget_keys(void)
{
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Path arguments of system calls and io_uring requests. */
#pragma once

#include "magic_links.bpf.h"

#define AT_FDCWD (-100)

/* The place that a path argument is relative to. */
static __always_inline struct place base_of(struct task_struct *task, __s32 directory, bool absolute)
{
	struct fs_struct *fs = FOLLOW(task, fs);
	struct place place = {};
	__u64 file;

	if (!absolute && directory != AT_FDCWD) {
		file = file_of_fd(task, directory);
		return file ? place_of_file(file) : place;
	}
	if (!fs)
		return place;
	if (absolute) {
		place.dentry = ADDRESS(struct fs_struct, fs, root.dentry);
		place.mount = ADDRESS(struct fs_struct, fs, root.mnt);
	} else {
		place.dentry = ADDRESS(struct fs_struct, fs, pwd.dentry);
		place.mount = ADDRESS(struct fs_struct, fs, pwd.mnt);
	}
	return place;
}

#define TEXT_PROC 0x636f72702fULL /* /proc */
#define TEXT_SYS  0x7379732fULL	  /* /sys */

static __always_inline bool begins_in(__u64 head, __u64 folder, __u32 length)
{
	__u64 next = head >> length * 8 & 0xff;

	return (head & ((1ULL << length * 8) - 1)) == folder && (!next || next == '/');
}

/* Where a path argument leads that begins in a folder with links to real files. A function of its own, as few do. */
static __noinline void way_magic(struct way *way, __u64 head, bool follow)
{
	__u64 at = MAGIC_NOWHERE, rest = way->rest;

	if ((head & 0xff) != '/') {
		at = way->place.dentry ? magic_folder(way->place.dentry) : MAGIC_NOWHERE;
	} else if (head == TEXT_DEV_FD) {
		at = MAGIC(MAGIC_FDS, number_of((__u64)current_task()));
		rest += DEV_LENGTH;
	} else if (head == TEXT_STD) {
		at = follow ? magic_standard(rest) : MAGIC_NOWHERE;
		if (at) {
			way->place = magic_place(at);
			way->pseudo = pseudo_place(way->place);
			way->rest = 0;
		}
		return;
	} else if (begins_in(head, TEXT_PROC, PROC_LENGTH) && head >> PROC_LENGTH * 8 & 0xff) {
		at = MAGIC_PROC;
		rest += PROC_LENGTH;
	}
	if (at)
		magic_follow(way, at, rest, follow);
}

/* What a path argument of the current task is relative to, after links of /proc in it. `follow`: also one at its end. */
static __always_inline void way_of(struct way *way, __s32 directory, __u64 user, bool follow)
{
	__u64 head[2] = {};

	bpf_probe_read_user_str(head, sizeof(head[0]) + 1, (void *)user);
	way->place = base_of(current_task(), directory, (head[0] & 0xff) == '/');
	way->rest = user;
	if ((head[0] & 0xff) == '/')
		way->pseudo = begins_in(head[0], TEXT_PROC, PROC_LENGTH) || begins_in(head[0], TEXT_SYS, 4);
	else
		way->pseudo = pseudo_place(way->place);
	if (way->pseudo || head[0] == TEXT_DEV_FD || head[0] == TEXT_STD)
		way_magic(way, head[0], follow);
}

/* Sends a path argument as a name and returns its id; `pseudo`: it leads to a pseudo file system. */
static __always_inline __u64 name_of_argument(__s32 directory, __u64 user, bool follow, bool *pseudo)
{
	struct way way;
	__u64 base;

	way_of(&way, directory, user, follow);
	*pseudo = way.pseudo;
	base = name_of_place(way.place);
	return way.rest ? name_of_text(base, way.rest) : base;
}

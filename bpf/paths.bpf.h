/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Path arguments of system calls and io_uring requests. */
#pragma once

#include "files.bpf.h"

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

/* Whether a path argument is in /proc or /sys: then it is on a pseudo file system. */
static __always_inline bool pseudo_text(const char *text)
{
	if (text[0] == '/' && text[1] == 'p' && text[2] == 'r' && text[3] == 'o' && text[4] == 'c')
		return text[5] == '/' || !text[5];
	if (text[0] == '/' && text[1] == 's' && text[2] == 'y' && text[3] == 's')
		return text[4] == '/' || !text[4];
	return false;
}

/* Sends a path argument as a name and returns its id; `pseudo`: it leads to a pseudo file system. */
static __always_inline __u64 name_of_argument(__s32 directory, __u64 user, bool *pseudo)
{
	struct place place;
	char head[8] = {};
	__u64 base;

	bpf_probe_read_user_str(head, sizeof(head), (void *)user);
	place = base_of(current_task(), directory, head[0] == '/');
	*pseudo = head[0] == '/' ? pseudo_text(head) : pseudo_place(place);
	base = name_of_place(place);
	return user ? name_of_text(base, user) : base;
}

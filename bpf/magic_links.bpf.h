/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Links of /proc that lead to real files: /proc/PID/cwd, root, exe and fd/N, the same of "self", "thread-self" and task/TID, and
 * what /dev names by them. They have no text that one could follow: they lead to a place, which is looked up here as the
 * kernel does. All of it is for paths that begin in /proc or so; others are not touched.
 */
#pragma once

#include "files.bpf.h"

#define MAGIC_PARTS   8  /* components of a path up to the link, at most */
#define MAGIC_ROUNDS  2  /* links one after the other, at most, as in /proc/self/root/proc/self/cwd */
#define PIDS_LEVELS   5  /* of the tree of PIDs, with 6 bits of them each */
#define PIDS_MASK     63

/* Where one is in a path, in the low bits of a number; the rest is an address, whose uppermost bits are all set. */
enum magic {
	MAGIC_NOWHERE, /* at what is no such link, and leads to none */
	MAGIC_PROC,    /* in the root of /proc */
	MAGIC_TASK,    /* in the folder of a task: its address */
	MAGIC_TASKS,   /* in "task" */
	MAGIC_FDS,     /* in "fd" of a task: its address */
	MAGIC_FILE,    /* at a link to an open file: its address; the following ones are links, too */
	MAGIC_CWD,     /* to a task's working directory: its address */
	MAGIC_ROOT,    /* to its root */
};

#define MAGIC_BITS	    3
#define MAGIC(kind, object) (number_of((__u64)(object)) << MAGIC_BITS | (kind))
#define MAGIC_KIND(at)	    ((at) & 7)
#define MAGIC_OBJECT(at)    ((__u64)((__s64)(at) >> MAGIC_BITS))

/* The first bytes of a text as a number. */
#define TEXT_SELF   0x666c6573ULL
#define TEXT_CWD    0x647763ULL
#define TEXT_ROOT   0x746f6f72ULL
#define TEXT_EXE    0x657865ULL
#define TEXT_FD	    0x6466ULL
#define TEXT_TASK   0x6b736174ULL
#define TEXT_DOT    0x2eULL
#define TEXT_THREAD 0x732d646165726874ULL /* thread-s, followed by elf */
#define TEXT_DEV_FD 0x2f64662f7665642fULL /* /dev/fd/ */
#define TEXT_STD    0x6474732f7665642fULL /* /dev/std, followed by in, out or err */
#define TEXT_IN	    0x6e69ULL
#define TEXT_OUT    0x74756fULL
#define TEXT_ERR    0x727265ULL

/* Offsets within a path argument. */
#define PROC_LENGTH 5 /* of /proc */
#define DEV_LENGTH  8 /* of /dev/fd/ and of /dev/std */

/* ---- tasks ---- */

static __always_inline __u64 task_of_pid(__u64 pid)
{
	__u64 first = pid ? ADDRESS(struct pid, pid, tasks[0].first) : 0;

	return first ? first - bpf_core_field_offset(struct task_struct, pid_links) : 0;
}

/* The task with that number in the PID namespace of the current one, or 0. A global function. */
__noinline __u64 magic_task(__u32 number)
{
	__u64 pid = number_of((__u64)FOLLOW(current_task(), thread_pid)), own, namespace, entry;
	__u32 level, shift;

	if (!pid)
		return 0;
	level = READ(struct pid, pid, level);
	own = pid + bpf_core_field_offset(struct pid, numbers) + level * bpf_core_type_size(struct upid);
	namespace = number_of((__u64)READ(struct upid, own, ns));
	entry = namespace ? ADDRESS(struct pid_namespace, namespace, idr.idr_rt.xa_head) : 0;
	for (int depth = 0; depth < PIDS_LEVELS; depth++) {
		if ((entry & 3) != 2 || entry <= 4096) /* it is no inner node */
			break;
		entry -= 2;
		shift = READ(struct xa_node, entry, shift) & 31;
		entry = word_at(entry + bpf_core_field_offset(struct xa_node, slots) + (number >> shift & PIDS_MASK) * sizeof(void *));
	}
	return entry && !(entry & 3) ? task_of_pid(entry) : 0;
}

/* An open file of a task, or 0. A global function. */
__noinline __u64 magic_file(__u64 task, __u32 fd)
{
	__u64 files = number_of((__u64)READ(struct task_struct, task, files)), table;

	if (!files)
		return 0;
	table = ADDRESS(struct files_struct, files, fdt);
	if (fd >= READ(struct fdtable, table, max_fds))
		return 0;
	return word_at(ADDRESS(struct fdtable, table, fd) + fd * sizeof(void *));
}

static __always_inline __u64 magic_exe(__u64 task)
{
	__u64 memory = number_of((__u64)READ(struct task_struct, task, mm));

	return memory ? number_of((__u64)READ(struct mm_struct___exe, memory, exe_file)) : 0;
}

/* ---- one component ---- */

#define PART_ROOM   16
#define PART_NUMBER (1ULL << 63) /* it is one; otherwise these are its bytes */

/* The number in the first bytes of a component, with PART_NUMBER; 0: they are none. */
static __always_inline __u64 number_in(__u64 bytes)
{
	__u64 number = 0;

	for (int i = 0; i < 8; i++) {
		__u32 byte = bytes & 0xff;

		if (!byte)
			break;
		if (byte < '0' || byte > '9')
			return 0;
		number = number * 10 + byte - '0';
		bytes >>= 8;
	}
	return number | PART_NUMBER;
}

/* Where the walk is after a component, of which the first eight bytes are given. A global function. */
__noinline __u64 magic_step(__u64 at, __u64 bytes)
{
	__u64 object = MAGIC_OBJECT(at), number = number_in(bytes);
	struct task_struct *task = current_task();

	if (!bytes || bytes == TEXT_DOT)
		return at;
	switch (MAGIC_KIND(at)) {
	case MAGIC_PROC:
	case MAGIC_TASKS:
		if (number)
			object = magic_task(number);
		else if (bytes == TEXT_SELF && MAGIC_KIND(at) == MAGIC_PROC)
			object = number_of((__u64)FOLLOW(task, group_leader));
		else if (bytes == TEXT_THREAD && MAGIC_KIND(at) == MAGIC_PROC)
			object = number_of((__u64)task);
		else
			object = 0;
		return object ? MAGIC(MAGIC_TASK, object) : MAGIC_NOWHERE;
	case MAGIC_TASK:
		if (bytes == TEXT_FD)
			return MAGIC(MAGIC_FDS, object);
		if (bytes == TEXT_TASK)
			return MAGIC(MAGIC_TASKS, object);
		if (bytes == TEXT_CWD)
			return MAGIC(MAGIC_CWD, object);
		if (bytes == TEXT_ROOT)
			return MAGIC(MAGIC_ROOT, object);
		object = bytes == TEXT_EXE ? magic_exe(object) : 0;
		return object ? MAGIC(MAGIC_FILE, object) : MAGIC_NOWHERE;
	case MAGIC_FDS:
		object = number ? magic_file(object, number) : 0;
		return object ? MAGIC(MAGIC_FILE, object) : MAGIC_NOWHERE;
	default:
		return MAGIC_NOWHERE;
	}
}

#define STEP_LENGTH(step) ((step) & 0xff)
#define STEP_LAST	  (1 << 8)  /* nothing follows, not even a slash */
#define STEP_UNREAD	  (1 << 9)

/* The length of the first component of a text in user memory, with the slashes behind it, and STEP_*. A global function. */
__noinline __u32 magic_length(__u64 user)
{
	char text[PART_ROOM + 1] = {};
	__u32 length = 0;

	if (bpf_probe_read_user_str(text, sizeof(text), (void *)user) < 0)
		return STEP_UNREAD;
	while (length < PART_ROOM && text[length] && text[length] != '/')
		length++;
	if (length == PART_ROOM)
		return STEP_UNREAD; /* no such name is so long */
	if (!text[length])
		return length | STEP_LAST;
	while (length < PART_ROOM && text[length] == '/')
		length++;
	return length;
}

/* The first eight bytes of that component. A global function. */
__noinline __u64 magic_bytes(__u64 user)
{
	__u64 words[2] = {}, ends;

	bpf_probe_read_user_str(words, sizeof(words[0]) + 1, (void *)user);
	ends = words[0] ^ 0x2f2f2f2f2f2f2f2fULL;
	ends = (ends - 0x0101010101010101ULL) & ~ends & 0x8080808080808080ULL;
	ends &= -ends;
	return ends ? words[0] & ((ends >> 7) - 1) : words[0];
}

/* ---- where a path begins ---- */

static __always_inline __u64 parent_of(__u64 dentry)
{
	return ADDRESS(struct dentry, dentry, d_parent);
}

static __always_inline __u64 dentry_bytes(__u64 dentry)
{
	return word_at(number_of((__u64)READ(struct dentry, dentry, d_name.name))) & 0xffffffffffULL; /* with the NUL behind "task" */
}

/* The task whose folder in /proc a dentry is, or 0. */
static __always_inline __u64 dentry_task(__u64 dentry)
{
	__u64 inode = ADDRESS(struct dentry, dentry, d_inode);

	if (!inode)
		return 0;
	return task_of_pid(number_of((__u64)READ(struct proc_inode, inode - bpf_core_field_offset(struct proc_inode, vfs_inode), pid)));
}

/* Where a folder of a pseudo file system is. A global function. */
__noinline __u64 magic_folder(__u64 dentry)
{
	__u64 sb = ADDRESS(struct dentry, dentry, d_sb), above = parent_of(dentry), bytes = dentry_bytes(dentry), task;

	if (READ(struct super_block, sb, s_magic) != PROC_MAGIC)
		return MAGIC_NOWHERE;
	if (above == dentry)
		return MAGIC_PROC;
	task = dentry_task(dentry);
	if (!task)
		return MAGIC_NOWHERE;
	if (parent_of(above) == above || (dentry_bytes(above) == TEXT_TASK && bytes - '0' < 10 + (~0ULL >> 1) && number_in(bytes)))
		return MAGIC(MAGIC_TASK, task);
	if ((bytes & 0xffffff) == TEXT_FD)
		return MAGIC(MAGIC_FDS, task);
	return bytes == TEXT_TASK ? MAGIC(MAGIC_TASKS, task) : MAGIC_NOWHERE;
}

/* ---- a path ---- */

/* A path argument: the place that it is relative to, and what is left of its text. */
struct way {
	struct place place;
	__u64 rest; /* user address; 0: nothing is left */
	bool pseudo; /* it leads to a pseudo file system */
};

static __always_inline struct place magic_place(__u64 at)
{
	__u64 object = MAGIC_OBJECT(at), fs;
	struct place place = {};

	if (MAGIC_KIND(at) == MAGIC_FILE)
		return place_of_file(object);
	fs = number_of((__u64)READ(struct task_struct, object, fs));
	if (!fs)
		return place;
	if (MAGIC_KIND(at) == MAGIC_CWD) {
		place.dentry = ADDRESS(struct fs_struct, fs, pwd.dentry);
		place.mount = ADDRESS(struct fs_struct, fs, pwd.mnt);
	} else {
		place.dentry = ADDRESS(struct fs_struct, fs, root.dentry);
		place.mount = ADDRESS(struct fs_struct, fs, root.mnt);
	}
	return place;
}

/* Goes along a path, up to a link, and sets what is left of the text then; false: there is no link that is followed. */
static __always_inline bool magic_walk(__u64 *at, __u64 *rest, bool follow)
{
	__u64 user = *rest, here = *at;
	__u32 step = 0;

	for (int i = 0; i < MAGIC_PARTS && MAGIC_KIND(here) && MAGIC_KIND(here) < MAGIC_FILE; i++) {
		step = magic_length(user);
		if (step & STEP_UNREAD)
			return false;
		here = magic_step(here, magic_bytes(user));
		user += STEP_LENGTH(step);
		if (step & STEP_LAST)
			break;
	}
	if (MAGIC_KIND(here) < MAGIC_FILE || (step & STEP_LAST && !follow))
		return false;
	*at = here;
	*rest = step & STEP_LAST ? 0 : user;
	return true;
}

/* Whether what is left of a path begins in /proc once more, of which the place is the root. */
static __always_inline bool magic_again(__u64 rest)
{
	__u64 bytes = 0;

	return rest && bpf_probe_read_user(&bytes, PROC_LENGTH, (void *)rest) == 0 && bytes == 0x2f636f7270ULL; /* proc/ */
}

/* Follows links from where a path is; `rest` is what is left of its text there. */
static __always_inline void magic_follow(struct way *way, __u64 at, __u64 rest, bool follow)
{
	for (int round = 0; round < MAGIC_ROUNDS; round++) {
		if (!magic_walk(&at, &rest, follow))
			return;
		way->place = magic_place(at);
		way->rest = rest;
		way->pseudo = pseudo_place(way->place);
		if (MAGIC_KIND(at) == MAGIC_ROOT && magic_again(rest)) {
			at = MAGIC_PROC;
			rest += PROC_LENGTH;
			way->pseudo = true;
		} else if (way->pseudo && way->place.dentry && rest) {
			at = magic_folder(way->place.dentry);
		} else {
			return;
		}
	}
}

/* What /dev/stdin, stdout or stderr is a link to; MAGIC_NOWHERE: it is another name. */
static __always_inline __u64 magic_standard(__u64 user)
{
	__u64 bytes = magic_bytes(user + DEV_LENGTH), file;

	if (bytes != TEXT_IN && bytes != TEXT_OUT && bytes != TEXT_ERR)
		return MAGIC_NOWHERE;
	file = file_of_fd(current_task(), bytes == TEXT_IN ? 0 : bytes == TEXT_OUT ? 1 : 2);
	return file ? MAGIC(MAGIC_FILE, number_of(file)) : MAGIC_NOWHERE;
}

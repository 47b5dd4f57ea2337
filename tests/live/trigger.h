/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * iotr-trigger: known I/O, and the rows that it must make.
 *
 * A trigger is a function that works in an empty directory (its working directory). System calls
 * made through SYS() are measured: each opens a window [begin, end] on CLOCK_MONOTONIC, in which
 * nothing but the expected rows may stand. Everything a trigger does otherwise (creating files,
 * asking for inode numbers) happens between the windows and is nobody's business.
 *
 * Expectations are built in memory and written at the end, so that they do not disturb.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>

#define ARROW "\x02\x03" /* between two names that a row joins: " -> " within a name is written otherwise */

struct trigger {
	const char *name;
	const char *operations; /* whose rows it makes, joined by ',' */
	void (*run)(void);
	void (*prepare)(void); /* before the session begins, with --wait */
};

/* Ended by a row without a name. */
extern const struct trigger io_triggers[];
extern const struct trigger file_triggers[];
extern const struct trigger meta_triggers[];
extern const struct trigger path_triggers[];
extern const struct trigger map_triggers[];
extern const struct trigger copy_triggers[];
extern const struct trigger names_triggers[];
extern const struct trigger mount_triggers[];
extern const struct trigger async_triggers[];
extern const struct trigger uring_triggers[];
extern const struct trigger ask_triggers[];
extern const struct trigger hint_triggers[];
extern const struct trigger odd_triggers[];
extern const struct trigger ia32_triggers[];
extern const struct trigger signal_triggers[];

extern const char *trigger_dir;	    /* the directory, absolute */
extern unsigned long trigger_count; /* --count */

/* Ends the program with a message when what a trigger stands on is missing. */
_Noreturn void die(const char *what);

/* The last measured call of the thread. */
struct call {
	long ret; /* what the kernel returned: negative errno on failure */
	uint64_t begin, end;
	pid_t tid;
};
extern _Thread_local struct call last;

uint64_t now(void);
long measured(long nr, long a, long b, long c, long d, long e, long f);
#define SYS(nr, ...) SYS_CALL(nr, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define SYS_CALL(nr, a, b, c, d, e, f, ...)                                                        \
	measured(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* A window for what is no single call (submissions, threads, children). */
void window(pid_t pid, pid_t tid, uint64_t begin, uint64_t end);
void window_begin(void);
void window_end(long ret);

/*
 * A row the last call must have made. Columns that cannot hold anything for the operation are
 * expected empty, return_value and errno follow from the call; what is set later wins.
 */
void row(const char *operation);
void row_mount(const char *source, const char *target, const char *flags); /* of MOUNT; `source` as it was given */
void row_number(const char *column, long long value);
void row_text(const char *column, const char *bytes);
void row_address(const void *at); /* NULL: none */
void row_empty(const char *column);
void row_skip(const char *column); /* not checked after all */
void row_result(long ret);
void row_thread(pid_t pid, pid_t tid);
void row_within(uint64_t begin, uint64_t end);
void row_takes(uint64_t least); /* ns */
void row_times(unsigned long count); /* that many alike */
void row_optional(void);	     /* may be missing; when it is there it must be right */
void row_level(const char *level);   /* is there at this level alone */

/* Why a family member is not there: "fchmodat2: not on this kernel". */
void note_missing(const char *what);

/* Writes everything to the file ("" or NULL: standard output). */
void expect_write(const char *path);

/* What the program itself knows about an open file or a path. */
struct file {
	int fd;
	char path[2 * PATH_MAX]; /* as the kernel names it now */
	unsigned long long inode;
	char device[32];
	char flags[256];
	char type[64];
};

/* Whether files of the working directory can be opened with O_DIRECT; noted when not. */
bool direct_works(void);

/* Opens (creating) NAME in the working directory, filled with LENGTH bytes. */
struct file file_make(const char *name, int flags, size_t length);
struct file file_of(int fd);
void file_refresh(struct file *file);
long long file_position(int fd);

void row_file(const struct file *file);		 /* filename inode device flags fs_type fd */
void row_io(long long size, long long offset);	 /* offset < 0: must be empty */
/* A whole row of a call on the file. `size` < 0: it transfers nothing. */
void row_transfer(const char *operation, const struct file *file, long result, long long size, long long offset);
void row_path(const char *relative);		 /* filename of a path in the directory */
void row_pair(const char *from, const char *to); /* "from -> to", both in the directory */
void row_object(const char *relative);		 /* inode and device, where level allows */
char *absolute(char *to, const char *relative);	 /* into a buffer of 2 * PATH_MAX */

/* Makes a file with content and closes it. */
void touch(const char *name, size_t length);

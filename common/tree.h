/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine's files: those that users name, and those of /proc that are not about a process. The service has a tree of its
 * own, without homes, with nothing to write to but its own folders, and a /proc of processes alone; what is the machine's is
 * not looked for there but in the tree of the process that its environment names (IOTRACER_TREE_OF=PID; in the unit: 1). Where
 * it names none, as by hand, both are the same. Paths are absolute. All calls but tree_begin() may be made by any thread, work
 * with its rights, and are otherwise like those that they are named for: -1 and errno.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define TREE_OF "IOTRACER_TREE_OF" /* the variable */

/* Before all others, before there are threads, and with all rights. A negative errno: the tree that is named cannot be had. */
int tree_begin(void);

/* Whether the tree is that of another process. */
bool tree_is_anothers(void);

/* Without O_CREAT. */
int tree_open(const char *path, int flags);

/* Opens a file for reading; fclose() closes it. NULL: errno. */
FILE *tree_file(const char *path);

/* Opens the folder (O_PATH) that the last part of the path is in; `name` points to that part, in the path. */
int tree_open_above(const char *path, const char **name);

int tree_stat(const char *path, struct stat *ret);
int tree_lstat(const char *path, struct stat *ret);
int tree_statvfs(const char *path, struct statvfs *ret);
int tree_mkdir(const char *path, mode_t mode);
int tree_rmdir(const char *path);

/* Whether the thread may go into the folder. */
bool tree_enters(const char *path);

/* Like realpath(3), but no more than the path's end need be within reach. The caller frees it. NULL: errno. */
char *tree_real_path(const char *path);

/* The table of mounts that the paths go by. */
const char *tree_mounts(void);

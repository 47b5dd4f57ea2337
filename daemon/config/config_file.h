/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that decide what the daemon does: INI as systemd reads it. Main thread only. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum { CONFIG_FILE_MAX = 64 * 1024 }; /* bytes of a file */

/*
 * Opens a file below `folder` (AT_FDCWD for the working directory): a regular one of at most CONFIG_FILE_MAX bytes, of
 * root's or the daemon's user, which nobody else may write; without `follow` no symbolic link. Does not wait, whatever
 * the file is. If `*why` is set, it explains the failure better than the error number.
 */
int config_file_open(int folder, const char *path, bool follow, FILE **ret, const char **why);

/* From here on files may be anybody's, as none of them decides anything. */
void config_file_only_look(void);

/*
 * Calls `handler` with each line that is neither empty nor a comment, without spaces around it; it may change the text. A
 * backslash at the end of a line stands for a space and the next line, and `number` is that of the first. -ENOMEM, -EIO.
 */
typedef void (*config_file_line)(unsigned number, char *text, void *userdata);
int config_file_lines(FILE *file, config_file_line handler, void *userdata);

/* The text without spaces around it; changes it. */
char *config_file_strip(char *text);

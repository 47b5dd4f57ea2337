/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that decide what the daemon does: INI as systemd reads it. Main thread only. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum { CONFIG_FILE_MAX = 64 * 1024 }; /* bytes of a file */

/* What becomes of what a file says. */
enum config_use {
	CONFIG_DECIDES,	  /* it decides what root does, so not everybody may have written it */
	CONFIG_LOOKED_AT, /* it is read, and nothing that it says is done: it may be anybody's */
};

/*
 * Opens a file below `folder` (AT_FDCWD for the working directory): a regular one of at most CONFIG_FILE_MAX bytes and, if it
 * decides, of root's or the daemon's user, which nobody else may write; without `follow` no symbolic link. Does not wait,
 * whatever the file is. If `*why` is set, it explains the failure better than the error number.
 */
int config_file_open(int folder, const char *path, enum config_use use, bool follow, FILE **ret, const char **why);

/*
 * Calls `handler` with each line that is neither empty nor a comment, without spaces around it; it may change the text. A
 * backslash at the end of a line stands for a space and the next line, and `number` is that of the first. NULL: the line has
 * a NUL byte, as after a crash of the machine whole files may be of them. -ENOMEM, -EIO.
 */
#define CONFIG_FILE_NO_TEXT "it has a NUL byte, and is no text"
typedef void (*config_file_line)(unsigned number, char *text, void *userdata);
int config_file_lines(FILE *file, config_file_line handler, void *userdata);

/* The text without spaces around it; changes it. */
char *config_file_strip(char *text);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The only way in which files are opened and made in folders that another user owns or may have owned. A name
 * is an entry of the folder, never a path. Symbolic links are not followed, and files that could block (a FIFO)
 * or that have a second link are not opened. New files are not readable by users to whom only the folder (its
 * ACL, its set-group-ID bit) would give access. All calls use the rights of the thread: see rights.h. Any
 * thread; errors are a negative errno.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum {
	INSIDE_FILE_MODE = 0640,
	INSIDE_FOLDER_MODE = 0750,
};

/* Opens a folder inside the folder. Returns a descriptor. */
int inside_folder(int folder, const char *name);

/* Makes a folder and opens it. -EEXIST. */
int inside_make_folder(int folder, const char *name);

/*
 * Opens an existing regular file that belongs to us or to the owner of the folder. `flags`: O_RDONLY or
 * O_RDWR. -EPERM: it is not such a file, or it has other links; -EFBIG: it has more than `most` bytes.
 */
int inside_open(int folder, const char *name, int flags, uint64_t most);

/* Makes a new file. `flags`: O_WRONLY or O_RDWR. -EEXIST. */
int inside_create(int folder, const char *name, int flags);

/* Reads a whole file and appends a NUL; the caller frees the text. */
int inside_read(int folder, const char *name, uint64_t most, char **text, size_t *size);

/*
 * Gives a new file or folder of root the thread's group and this mode, whatever its folder prescribes for it
 * (a group by a set-group-ID bit, an ACL). One made with a user's rights stays as it is, and so does one on a
 * file system without owners.
 */
void inside_claim(int fd, mode_t mode);

// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/new_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTORS = 8 }; /* that nftw() may use */

int new_folder_open(struct new_folder *folder, const char *path)
{
	size_t length = strlen(path);

	*folder = (struct new_folder){ .path = path };
	if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	while (length > 1 && path[length - 1] == '/')
		length--;
	if (length + sizeof(".XXXXXX") > sizeof(folder->temporary))
		return -ENAMETOOLONG;
	memcpy(folder->temporary, path, length);
	memcpy(folder->temporary + length, ".XXXXXX", sizeof(".XXXXXX"));
	if (mkdtemp(folder->temporary))
		return 0;
	folder->temporary[0] = '\0';
	return -errno;
}

int new_folder_keep(struct new_folder *folder)
{
	int r = renameat2(AT_FDCWD, folder->temporary, AT_FDCWD, folder->path, RENAME_NOREPLACE);

	/* Not every file system can; else at most an empty folder is replaced. */
	if (r < 0 && errno == EINVAL)
		r = rename(folder->temporary, folder->path);
	if (r < 0)
		return -errno;
	folder->temporary[0] = '\0';
	return 0;
}

static uint64_t counted; /* nftw() has no argument for it */

static int count_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)path;
	(void)ftw;
	counted += type == FTW_F ? (uint64_t)st->st_size : 0;
	return 0;
}

uint64_t new_folder_size(const char *path)
{
	counted = 0;
	nftw(path, count_one, DESCRIPTORS, FTW_PHYS);
	return counted;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	if (ftw->level)
		remove(path);
	return 0;
}

void folder_remove(const char *path, bool itself)
{
	nftw(path, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
	if (itself)
		rmdir(path);
}

void new_folder_done(struct new_folder *folder)
{
	if (folder->temporary[0])
		folder_remove(folder->temporary, true);
	folder->temporary[0] = '\0';
}

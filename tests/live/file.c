// SPDX-License-Identifier: GPL-2.0-or-later
/* What the program knows about its own files: names, numbers, flags. */
#include "trigger.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* As the kernel numbers them, which is not as libc shows O_LARGEFILE. */
static const struct {
	int bit;
	const char *name;
} open_flags[] = {
	{ 00000100, "O_CREAT" },     { 00000200, "O_EXCL" },	  { 00000400, "O_NOCTTY" },
	{ 00001000, "O_TRUNC" },     { 00002000, "O_APPEND" },	  { 00004000, "O_NONBLOCK" },
	{ 00010000, "O_DSYNC" },     { 00020000, "FASYNC" },	  { 00040000, "O_DIRECT" },
	{ 00100000, "O_LARGEFILE" }, { 00200000, "O_DIRECTORY" }, { 00400000, "O_NOFOLLOW" },
	{ 01000000, "O_NOATIME" },   { 02000000, "O_CLOEXEC" },	  { 010000000, "O_PATH" },
};

static void flags_decode(char *to, size_t size, int flags)
{
	static const char *const modes[] = { "O_RDONLY", "O_WRONLY", "O_RDWR", "0x3" };

	snprintf(to, size, "%s", modes[flags & O_ACCMODE]);
	for (size_t i = 0; i < sizeof(open_flags) / sizeof(*open_flags); i++)
		if (flags & open_flags[i].bit)
			snprintf(to + strlen(to), size - strlen(to), "|%s", open_flags[i].name);
}

static void type_of(char to[static 64], const char *device)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[3 * PATH_MAX], number[32], type[64];

	*to = '\0';
	while (mounts && fgets(line, sizeof(line), mounts)) {
		const char *dash = strstr(line, " - ");

		if (sscanf(line, "%*s %*s %31s", number) != 1 || strcmp(number, device))
			continue;
		if (dash && sscanf(dash, " - %63s", type) == 1)
			strcpy(to, type);
	}
	if (mounts)
		fclose(mounts);
}

static void numbers(struct file *file, const struct stat *stat)
{
	file->inode = stat->st_ino;
	snprintf(file->device, sizeof(file->device), "%u:%u", major(stat->st_dev),
		 minor(stat->st_dev));
}

void file_refresh(struct file *file)
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
	length = readlink(link, file->path, sizeof(file->path) - 1);
	file->path[length < 0 ? 0 : length] = '\0';
}

struct file file_of(int fd)
{
	struct file file = { .fd = fd };
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0)
		die("open or fstat");
	numbers(&file, &stat);
	file_refresh(&file);
	flags_decode(file.flags, sizeof(file.flags), fcntl(fd, F_GETFL));
	type_of(file.type, file.device);
	return file;
}

struct file file_make(const char *name, int flags, size_t length)
{
	static char block[4096];

	touch(name, 0);
	for (size_t at = 0; at < length; at += sizeof(block)) {
		int fd = open(name, O_WRONLY | O_APPEND);
		size_t part = length - at < sizeof(block) ? length - at : sizeof(block);

		memset(block, 'a' + (int)(at / sizeof(block)) % 26, sizeof(block));
		if (fd < 0 || write(fd, block, part) != (ssize_t)part)
			die("filling a file");
		close(fd);
	}
	return file_of(open(name, flags));
}

bool direct_works(void)
{
	int fd = open("direct", O_RDWR | O_CREAT | O_DIRECT, 0644);

	if (fd < 0) {
		note_missing("O_DIRECT on this file system");
		return false;
	}
	close(fd);
	return true;
}

void touch(const char *name, size_t length)
{
	int fd = open(name, O_RDWR | O_CREAT, 0644);

	if (fd < 0 || ftruncate(fd, (off_t)length) < 0)
		die(name);
	close(fd);
}

long long file_position(int fd)
{
	return lseek(fd, 0, SEEK_CUR);
}

void row_file(const struct file *file)
{
	row_text("filename", file->path);
	row_number("inode", (long long)file->inode);
	row_text("device", file->device);
	row_text("flags", file->flags);
	row_number("fd", file->fd);
	if (*file->type)
		row_text("fs_type", file->type);
}

void row_io(long long size, long long offset)
{
	row_number("size", size);
	if (offset < 0)
		row_empty("offset");
	else
		row_number("offset", offset);
}

void row_transfer(const char *operation, const struct file *file, long result, long long size, long long offset)
{
	row(operation);
	row_file(file);
	row_result(result);
	if (size < 0)
		return;
	row_number("bytes_completed", result > 0 ? result : 0);
	row_io(size, offset);
}

char *absolute(char *to, const char *relative)
{
	if (*relative == '/')
		snprintf(to, 2 * PATH_MAX, "%s", relative);
	else
		snprintf(to, 2 * PATH_MAX, "%s/%s", trigger_dir, relative);
	return to;
}

void row_path(const char *relative)
{
	static char path[2 * PATH_MAX];

	row_text("filename", absolute(path, relative));
}

void row_pair(const char *from, const char *to)
{
	static char pair[4 * PATH_MAX + 8], path[2 * PATH_MAX];

	snprintf(pair, sizeof(pair), "%s", absolute(path, from));
	snprintf(pair + strlen(pair), sizeof(pair) - strlen(pair), ARROW "%s", absolute(path, to));
	row_text("filename", pair);
}

void row_object(const char *relative)
{
	struct file file;
	struct stat stat;

	if (lstat(relative, &stat) < 0)
		return;
	numbers(&file, &stat);
	row_number("inode_function", (long long)file.inode);
	row_text("device_function", file.device);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder of the process, in which each input becomes a file. One thread. */
#pragma once

#include "folder.h"

/* Begun at the first call, and taken away when the process ends. */
static inline struct folder *input_folder(void);

static inline void input_folder_end(void)
{
	folder_end(input_folder());
}

static inline struct folder *input_folder(void)
{
	static struct folder folder;

	if (!*folder.path) {
		folder_begin(&folder);
		atexit(input_folder_end);
	}
	return &folder;
}

static inline void input_put(const char *name, const void *data, size_t size)
{
	int fd = openat(input_folder()->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
	close(fd);
}

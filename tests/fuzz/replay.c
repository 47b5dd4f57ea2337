// SPDX-License-Identifier: GPL-2.0-or-later
/* Hands the files of a folder to the fuzzed function, one after the other. */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

static void fail(const char *name)
{
	perror(name);
	exit(EXIT_FAILURE);
}

/* Takes what is a regular file; returns whether it is one. */
static bool replay(int folder_fd, const char *name)
{
	int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC);
	struct stat status;
	uint8_t *data;

	if (fd < 0 || fstat(fd, &status))
		fail(name);
	if (!S_ISREG(status.st_mode)) {
		close(fd);
		return false;
	}
	/* Of just that size, so that a sanitizer sees a byte that is read behind it. */
	data = malloc((size_t)status.st_size);
	if ((!data && status.st_size) || read(fd, data, (size_t)status.st_size) != status.st_size)
		fail(name);
	close(fd);
	printf("%s\n", name);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, (size_t)status.st_size);
	free(data);
	return true;
}

int main(int argc, char **argv)
{
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
	const struct dirent *entry;
	unsigned int inputs = 0;

	if (!folder)
		fail(argc == 2 ? argv[1] : "the folder of a corpus is wanted");
	while ((entry = readdir(folder)))
		inputs += replay(dirfd(folder), entry->d_name);
	closedir(folder);
	printf("%u inputs\n", inputs);
	return inputs ? EXIT_SUCCESS : EXIT_FAILURE;
}

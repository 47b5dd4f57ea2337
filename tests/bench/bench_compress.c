// SPDX-License-Identifier: GPL-2.0-or-later
/* bench_compress LEVEL FILE: the file to gzip as the daemon does it. Prints rows, bytes, and CPU. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "storage/compress.h"

static void computes(void *userdata, bool begins)
{
	(void)userdata, (void)begins;
}

static int before(void *userdata, uint64_t bytes)
{
	(void)userdata;
	(void)bytes;
	return 0;
}

static void after(void *userdata, uint64_t bytes, uint64_t written)
{
	(void)bytes;
	*(uint64_t *)userdata += written;
}

static double cpu_seconds(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static uint64_t count_rows(const char *text, size_t size)
{
	uint64_t lines = 0;

	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	return lines - 1; /* the header */
}

int main(int argc, char **argv)
{
	struct compressor *compressor = argc == 3 ? compressor_new(atoi(argv[1])) : NULL;
	int in = argc == 3 ? open(argv[2], O_RDONLY) : -1, out = memfd_create("gz", 0), error;
	uint64_t packed = 0;
	const struct compress_guard guard = { computes, before, after, &packed };
	struct stat status;
	double from, used;
	char *text;

	if (!compressor || in < 0 || out < 0 || fstat(in, &status) < 0) {
		fprintf(stderr, "usage: bench_compress LEVEL FILE\n");
		return 2;
	}
	text = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, in, 0);
	if (text == MAP_FAILED)
		return 1;
	from = cpu_seconds();
	error = compress_file(compressor, in, (uint64_t)status.st_size, out, &guard);
	used = cpu_seconds() - from;
	if (error)
		fprintf(stderr, "bench_compress: %s\n", strerror(-error));
	else
		printf("rows %llu text %llu packed %llu cpu %.6f\n",
		       (unsigned long long)count_rows(text, (size_t)status.st_size),
		       (unsigned long long)status.st_size, (unsigned long long)packed, used);
	compressor_free(compressor);
	return error ? 1 : 0;
}

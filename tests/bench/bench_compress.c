// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_compress LEVEL FILE: the file to FILE.gz as the daemon does it, from the disk and to it; FILE.gz is removed again.
 * Prints rows, bytes, and seconds: of CPU, and in all.
 */
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

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t count_rows(int fd, size_t size)
{
	const char *text = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	uint64_t lines = 0;

	if (text == MAP_FAILED)
		return 0;
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	munmap((void *)(uintptr_t)text, size);
	return lines - 1; /* the header */
}

/* A segment that is compressed was written past the page cache, or has left it. */
static void drop(int fd)
{
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static int measure(struct compressor *compressor, int in, int out, size_t size)
{
	uint8_t sha256[SHA256_DIGEST_SIZE];
	uint64_t packed = 0, rows = count_rows(in, size);
	const struct compress_guard guard = { computes, before, after, &packed };
	double cpu, wall;
	int error;

	drop(in);
	cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
	wall = seconds(CLOCK_MONOTONIC);
	error = compress_file(compressor, in, size, out, &guard, sha256);
	if (!error)
		fsync(out);
	cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
	wall = seconds(CLOCK_MONOTONIC) - wall;
	if (error)
		fprintf(stderr, "bench_compress: %s\n", strerror(-error));
	else
		printf("rows %llu text %zu packed %llu cpu %.6f wall %.6f\n", (unsigned long long)rows, size,
		       (unsigned long long)packed, cpu, wall);
	return error;
}

int main(int argc, char **argv)
{
	struct compressor *compressor = argc == 3 ? compressor_new(atoi(argv[1])) : NULL;
	int in = argc == 3 ? open(argv[2], O_RDONLY) : -1, out, error;
	struct stat status;
	char name[4096];

	if (!compressor || in < 0 || fstat(in, &status) < 0 || !status.st_size) {
		fprintf(stderr, "usage: bench_compress LEVEL FILE\n");
		return 2;
	}
	snprintf(name, sizeof(name), "%s.gz", argv[2]);
	out = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (out < 0) {
		fprintf(stderr, "bench_compress: %s: %s\n", name, strerror(errno));
		return 1;
	}
	error = measure(compressor, in, out, (size_t)status.st_size);
	unlink(name);
	compressor_free(compressor);
	return error ? 1 : 0;
}

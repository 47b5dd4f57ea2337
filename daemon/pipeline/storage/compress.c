// SPDX-License-Identifier: GPL-2.0-or-later
#include "compress.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <unistd.h>

#define MEMBER_SIZE (1024 * 1024) /* bytes of text in a member */

struct compressor {
	struct libdeflate_compressor *deflate;
	char *text;
	char *member;
	size_t member_max;
};

struct compressor *compressor_new(int level)
{
	struct compressor *compressor = calloc(1, sizeof(*compressor));

	if (!compressor)
		return NULL;
	compressor->deflate = libdeflate_alloc_compressor(level);
	if (compressor->deflate)
		compressor->member_max =
			libdeflate_gzip_compress_bound(compressor->deflate, MEMBER_SIZE);
	compressor->text = malloc(MEMBER_SIZE);
	compressor->member = malloc(compressor->member_max ?: 1);
	if (compressor->deflate && compressor->text && compressor->member)
		return compressor;
	compressor_free(compressor);
	return NULL;
}

void compressor_free(struct compressor *compressor)
{
	if (!compressor)
		return;
	if (compressor->deflate)
		libdeflate_free_compressor(compressor->deflate);
	free(compressor->text);
	free(compressor->member);
	free(compressor);
}

/* Reads exactly `size` bytes. */
static int read_all(int fd, char *data, size_t size, uint64_t offset)
{
	while (size) {
		ssize_t got = pread(fd, data, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		data += got;
		size -= (size_t)got;
		offset += (uint64_t)got;
	}
	return 0;
}

static int write_all(int fd, const char *data, size_t size, uint64_t *written)
{
	for (*written = 0; *written < size;) {
		ssize_t put = write(fd, data + *written, size - *written);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		*written += (uint64_t)put;
	}
	return 0;
}

static int write_member(struct compressor *compressor, size_t size, int out,
			const struct compress_guard *guard)
{
	uint64_t written;
	size_t packed;
	int error;

	guard->computes(guard->userdata, true);
	packed = libdeflate_gzip_compress(compressor->deflate, compressor->text, size, compressor->member,
					  compressor->member_max);
	guard->computes(guard->userdata, false);
	error = guard->before(guard->userdata, packed);
	if (error < 0)
		return error;
	error = write_all(out, compressor->member, packed, &written);
	guard->after(guard->userdata, packed, written);
	return error;
}

int compress_file(struct compressor *compressor, int in, uint64_t size, int out,
		  const struct compress_guard *guard)
{
	uint64_t done = 0;

	/* At least once: a file without any member is not gzip. */
	do {
		size_t piece = size - done < MEMBER_SIZE ? (size_t)(size - done) : MEMBER_SIZE;
		int error = read_all(in, compressor->text, piece, done);

		if (!error)
			error = write_member(compressor, piece, out, guard);
		if (error < 0)
			return error;
		done += piece;
	} while (done < size);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "compress.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <unistd.h>

#include "write_behind.h"

#define MEMBER_SIZE  (1024 * 1024)		 /* bytes of text in a member */
#define MEMBER_MAX   (MEMBER_SIZE + 64 * 1024) /* stored as it is, with headers: more a member cannot have */
#define LEVELS	     (ISAL_DEF_MAX_LEVEL + 1)

static const uint32_t level_sizes[LEVELS] = { ISAL_DEF_LVL0_DEFAULT, ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT,
					      ISAL_DEF_LVL3_DEFAULT };

struct compressor {
	struct isal_zstream deflate;
	uint32_t level;
	uint8_t *level_memory;
	char *text;
	uint8_t *member;
	struct sha256_ctx sha256; /* of what was written */
};

struct compressor *compressor_new(int level)
{
	struct compressor *compressor = level < 0 || level >= LEVELS ? NULL : calloc(1, sizeof(*compressor));

	if (!compressor)
		return NULL;
	compressor->level = (uint32_t)level;
	compressor->level_memory = malloc(level_sizes[level] ?: 1);
	compressor->text = aligned_alloc(WRITE_BEHIND_BLOCK, MEMBER_SIZE);
	compressor->member = malloc(MEMBER_MAX);
	if (compressor->level_memory && compressor->text && compressor->member)
		return compressor;
	compressor_free(compressor);
	return NULL;
}

void compressor_free(struct compressor *compressor)
{
	if (!compressor)
		return;
	free(compressor->level_memory);
	free(compressor->text);
	free(compressor->member);
	free(compressor);
}

/* ---- reading ---- */

/* False: the flag cannot be set, or is not there any more. */
static bool set_direct(int fd, bool direct)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && !!(flags & O_DIRECT) != direct && !fcntl(fd, F_SETFL, flags ^ O_DIRECT);
}

/*
 * Reads exactly `size` bytes, and from a file that ends later up to a block more, which the buffer has room for: direct
 * reads are of whole blocks. What such a read does not take is read through the page cache.
 */
static int read_all(int fd, char *data, size_t size, uint64_t offset)
{
	size_t blocks = (size + WRITE_BEHIND_BLOCK - 1) / WRITE_BEHIND_BLOCK * WRITE_BEHIND_BLOCK, done = 0;

	while (done < size) {
		ssize_t got = pread(fd, data + done, blocks - done, (off_t)(offset + done));

		if (got < 0 && (errno == EINTR || (errno == EINVAL && set_direct(fd, false))))
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		done += (size_t)got;
	}
	/* The file itself goes soon, so nobody will want its pages, whosever they are. */
	posix_fadvise(fd, (off_t)offset, (off_t)size, POSIX_FADV_DONTNEED);
	return 0;
}

struct output {
	int fd;
	uint64_t size;
	struct write_behind behind;
};

/* ---- members ---- */

/* Bytes of the member, or a negative errno. */
static ssize_t make_member(struct compressor *compressor, size_t size)
{
	struct isal_zstream *deflate = &compressor->deflate;

	isal_deflate_stateless_init(deflate);
	deflate->level = compressor->level;
	deflate->level_buf = compressor->level_memory;
	deflate->level_buf_size = level_sizes[compressor->level];
	deflate->gzip_flag = IGZIP_GZIP;
	deflate->end_of_stream = 1;
	deflate->next_in = (uint8_t *)compressor->text;
	deflate->avail_in = (uint32_t)size;
	deflate->next_out = compressor->member;
	deflate->avail_out = MEMBER_MAX;
	if (isal_deflate_stateless(deflate) != COMP_OK)
		return -EINVAL;
	sha256_update(&compressor->sha256, deflate->total_out, compressor->member);
	return deflate->total_out;
}

static int write_member(struct compressor *compressor, size_t size, struct output *output,
			const struct compress_guard *guard)
{
	ssize_t packed;
	size_t written;
	int error;

	guard->computes(guard->userdata, true);
	packed = make_member(compressor, size);
	guard->computes(guard->userdata, false);
	if (packed < 0)
		return (int)packed;
	error = guard->before(guard->userdata, (uint64_t)packed);
	if (error < 0)
		return error;
	written = write_behind_put(&output->behind, output->fd, (const char *)compressor->member, (size_t)packed,
				   output->size, &error);
	output->size += written;
	guard->after(guard->userdata, (uint64_t)packed, written);
	return error;
}

int compress_file(struct compressor *compressor, int in, uint64_t size, int out, const struct compress_guard *guard,
		  uint8_t sha256[SHA256_DIGEST_SIZE])
{
	struct output output = { .fd = out };
	uint64_t done = 0;

	sha256_init(&compressor->sha256);
	set_direct(in, true);
	/* At least once: a file without any member is not gzip. */
	do {
		size_t piece = size - done < MEMBER_SIZE ? (size_t)(size - done) : MEMBER_SIZE;
		int error = read_all(in, compressor->text, piece, done);

		if (!error)
			error = write_member(compressor, piece, &output, guard);
		if (error < 0)
			return error;
		done += piece;
	} while (done < size);
	sha256_digest(&compressor->sha256, SHA256_DIGEST_SIZE, sha256);
	return write_behind_end(&output.behind, out);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "write_behind.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Pages are dropped whole; none is larger than this on any architecture that Linux knows BPF on. */
#define PAGE_MAX 65536ULL

static size_t put_all(int fd, const char *data, size_t size, uint64_t offset, int *error)
{
	size_t done = 0;

	*error = 0;
	while (done < size) {
		ssize_t written = pwrite(fd, data + done, size - done, (off_t)(offset + done));

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			*error = written < 0 ? -errno : -EIO;
			break;
		}
		done += (size_t)written;
	}
	return done;
}

/* Sets or takes away O_DIRECT. False: the file system knows no such thing. */
static bool set_past(struct write_behind *behind, int fd, bool past)
{
	int flags;

	if (behind->past == past)
		return true;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, past ? flags | O_DIRECT : flags & ~O_DIRECT) < 0)
		return false;
	behind->past = past;
	return true;
}

/* Some file systems cannot do this at all, which is no fault of the bytes. */
static int sync_range(int fd, uint64_t from, uint64_t to, unsigned int how)
{
	if (sync_file_range(fd, (off_t)from, (off_t)(to - from), how) == 0)
		return 0;
	return errno == EIO || errno == ENOSPC || errno == EDQUOT ? -errno : 0;
}

/* Waits for the write-back that has begun, and drops its pages. */
static int drop(struct write_behind *behind, int fd)
{
	uint64_t from = behind->dropped, to = behind->starting;
	int error;

	if (from == to)
		return 0;
	error = sync_range(fd, from, to,
			   SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
	posix_fadvise(fd, (off_t)from, (off_t)(to - from), POSIX_FADV_DONTNEED);
	behind->dropped = to;
	return error;
}

/*
 * When `step` bytes have come since the last time, drops what was begun then, which has had the time to reach the
 * disk, and begins to write back what has come since.
 */
static int advance(struct write_behind *behind, int fd, uint64_t step)
{
	uint64_t end = behind->cached / PAGE_MAX * PAGE_MAX;
	int error;

	if (end < behind->starting + step)
		return 0;
	error = drop(behind, fd);
	if (end > behind->starting)
		sync_range(fd, behind->starting, end, SYNC_FILE_RANGE_WRITE);
	behind->starting = end;
	return error;
}

size_t write_behind_put(struct write_behind *behind, int fd, const char *data, size_t size, uint64_t offset,
			int *error)
{
	size_t done;
	int failed;

	set_past(behind, fd, false);
	done = put_all(fd, data, size, offset, error);
	if (offset + done > behind->cached)
		behind->cached = offset + done;
	failed = advance(behind, fd, WRITE_BEHIND_STEP);
	*error = *error ?: failed;
	return done;
}

static bool is_of_blocks(const void *data, size_t size, uint64_t offset)
{
	return size && !(((uintptr_t)data | size | offset) % WRITE_BEHIND_BLOCK);
}

size_t write_behind_put_blocks(struct write_behind *behind, int fd, const char *data, size_t size,
			       uint64_t offset, int *error)
{
	size_t done;
	int failed;

	*error = 0;
	if (behind->refused || !is_of_blocks(data, size, offset))
		return 0;
	failed = advance(behind, fd, 0);
	if (!set_past(behind, fd, true)) {
		behind->refused = true;
		*error = failed;
		return 0;
	}
	done = put_all(fd, data, size, offset, error);
	if (!done && *error == -EINVAL) {
		behind->refused = true;
		*error = 0;
	}
	*error = *error ?: failed;
	return done;
}

int write_behind_end(struct write_behind *behind, int fd)
{
	if (behind->cached - behind->dropped <= WRITE_BEHIND_LITTLE)
		return sync_range(fd, behind->starting, behind->cached, SYNC_FILE_RANGE_WRITE);
	behind->starting = behind->cached;
	return drop(behind, fd);
}

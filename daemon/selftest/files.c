// SPDX-License-Identifier: GPL-2.0-or-later
/* Operations on files: of the system calls, and what they make of the page cache and the disk. */
#include "selftest/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "selftest/note.h"

#define BLOCK 4096
#define SIZE  (64 * BLOCK)

#define EXT4_MAGIC 0xef53
#define XFS_MAGIC  0x58465342

static char bytes[SIZE] __attribute__((aligned(BLOCK)));

/* The storage on which the folder is. */
static struct {
	bool plain; /* a file system that does its I/O in the thread that asks, and whose page cache can be traced */
	bool disk;  /* and it is on a disk that gets its requests as they are, not on a dm or md device */
} ground;

static void vfs(enum iotr_vfs_operation operation, bool done)
{
	selftest_note(IOTR_VFS, operation, done, true);
}

static void cache(enum iotr_cache_operation operation, bool done)
{
	selftest_note(IOTR_CACHE, operation, done, ground.plain);
}

static bool device_has(dev_t device, const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major(device), minor(device), what);
	return access(path, F_OK) == 0;
}

static void ground_find(int fd)
{
	struct statfs fs;
	struct stat stat;

	if (fstatfs(fd, &fs) < 0 || fstat(fd, &stat) < 0)
		return;
	vfs(IOTR_VFS_STATFS, true);
	ground.plain = (fs.f_type == EXT4_MAGIC || fs.f_type == XFS_MAGIC) &&
		       device_has(stat.st_dev, "");
	ground.disk = ground.plain && !device_has(stat.st_dev, "dm") && !device_has(stat.st_dev, "md");
}

static void reads_and_writes(int fd)
{
	vfs(IOTR_VFS_WRITE, write(fd, bytes, SIZE) == SIZE);
	cache(IOTR_CACHE_DIRTY, true);
	cache(IOTR_CACHE_HIT, pread(fd, bytes, BLOCK, 0) == BLOCK);
	vfs(IOTR_VFS_SYNC, sync_file_range(fd, 0, BLOCK, SYNC_FILE_RANGE_WRITE) == 0);
	vfs(IOTR_VFS_FDATASYNC, fdatasync(fd) == 0);
	vfs(IOTR_VFS_FSYNC, fsync(fd) == 0);
	selftest_note(IOTR_BLOCK, IOTR_BLOCK_FLUSH, true, false); /* only where the disk has a volatile write cache */
	cache(IOTR_CACHE_WRITEBACK_START, true);
	cache(IOTR_CACHE_WRITEBACK_END, true);
	cache(IOTR_CACHE_DROP, posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
	vfs(IOTR_VFS_FADVISE, posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL) == 0);
	vfs(IOTR_VFS_READ, pread(fd, bytes, BLOCK, 0) == BLOCK);
	cache(IOTR_CACHE_MISS, true);
	selftest_note(IOTR_CACHE, IOTR_CACHE_READAHEAD, true, false); /* readahead can be switched off */
	vfs(IOTR_VFS_READAHEAD, readahead(fd, 0, BLOCK) == 0);
	vfs(IOTR_VFS_FLOCK, flock(fd, LOCK_SH) == 0);
	vfs(IOTR_VFS_LOCK, lockf(fd, F_TLOCK, 0) == 0);
}

static void maps(int fd)
{
	char *at = mmap(NULL, 2 * BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	vfs(IOTR_VFS_MMAP, at != MAP_FAILED);
	if (at == MAP_FAILED)
		return;
	*(volatile char *)at = 1;
	selftest_note(IOTR_PAGEFAULT, IOTR_PAGEFAULT_FAULT, true, true);
	vfs(IOTR_VFS_MSYNC, msync(at, BLOCK, MS_SYNC) == 0);
	vfs(IOTR_VFS_MREMAP, mremap(at, 2 * BLOCK, BLOCK, 0) != MAP_FAILED);
	vfs(IOTR_VFS_MADVISE, madvise(at, BLOCK, MADV_NORMAL) == 0);
#ifdef MADV_PAGEOUT
	selftest_note(IOTR_CACHE, IOTR_CACHE_EVICT, madvise(at, BLOCK, MADV_PAGEOUT) == 0, false);
#endif
	vfs(IOTR_VFS_MUNMAP, munmap(at, BLOCK) == 0);
}

static void pipes(int fd, int other)
{
	struct iovec vector = { bytes, 1 };
	loff_t from = 0, to = 0;
	off_t offset = 0;
	int ends[2];

	if (pipe(ends) < 0)
		return;
	vfs(IOTR_VFS_SPLICE, splice(fd, &from, ends[1], NULL, BLOCK, 0) > 0);
	vfs(IOTR_VFS_VMSPLICE, vmsplice(ends[1], &vector, 1, 0) == 1);
	vfs(IOTR_VFS_SENDFILE, sendfile(other, fd, &offset, BLOCK) > 0);
	from = 0;
	vfs(IOTR_VFS_COPY_FILE_RANGE, copy_file_range(fd, &from, other, &to, BLOCK, 0) > 0);
	close(ends[0]);
	close(ends[1]);
}

static void names(int fd)
{
	struct stat stat;
	DIR *folder;

	vfs(IOTR_VFS_GETATTR, fstat(fd, &stat) == 0);
	vfs(IOTR_VFS_SETATTR, fchmod(fd, 0640) == 0);
	vfs(IOTR_VFS_CHDIR, chdir(".") == 0);
	vfs(IOTR_VFS_MKDIR, mkdir("folder", 0700) == 0);
	vfs(IOTR_VFS_RMDIR, rmdir("folder") == 0);
	vfs(IOTR_VFS_LINK, link("file", "link") == 0);
	vfs(IOTR_VFS_SYMLINK, symlink("file", "symlink") == 0);
	vfs(IOTR_VFS_READLINK, readlink("symlink", bytes, sizeof(bytes)) > 0);
	vfs(IOTR_VFS_MKNOD, mknod("fifo", S_IFIFO | 0600, 0) == 0);
	vfs(IOTR_VFS_ACCESS, access("file", R_OK) == 0);
	vfs(IOTR_VFS_RENAME, rename("link", "renamed") == 0);
	vfs(IOTR_VFS_UNLINK, unlink("renamed") == 0);
	folder = opendir(".");
	vfs(IOTR_VFS_READDIR, folder && readdir(folder));
	if (folder)
		closedir(folder);
}

/* A call that the file system refuses is recorded all the same. */
static void attributes(void)
{
	ssize_t size;

	setxattr("file", "user.iotracer", "x", 1, 0);
	vfs(IOTR_VFS_SETXATTR, true);
	size = getxattr("file", "user.iotracer", bytes, sizeof(bytes));
	vfs(IOTR_VFS_GETXATTR, true);
	size = listxattr("file", bytes, sizeof(bytes));
	vfs(IOTR_VFS_LISTXATTR, true);
	removexattr("file", "user.iotracer");
	vfs(IOTR_VFS_REMOVEXATTR, true);
	(void)size;
}

/*
 * The mount point does not exist, so that nothing is mounted or unmounted. What a filter of system calls refuses does not come
 * as far as any hook.
 */
static void mounts(void)
{
	bool filtered = prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;

	if (mount("none", "nowhere", "tmpfs", 0, NULL) < 0 && errno == EPERM && filtered) {
		selftest_note_itself(SELFTEST_REFUSED);
		return;
	}
	vfs(IOTR_VFS_MOUNT, true);
	umount2("nowhere", 0);
	vfs(IOTR_VFS_UMOUNT, true);
}

/* Direct I/O, which bypasses the page cache. */
static void direct(void)
{
	int fd = open("file", O_RDWR | O_DIRECT | O_CLOEXEC);
	bool wrote, read;

	if (fd < 0)
		return;
	wrote = pwrite(fd, bytes, BLOCK, 0) == BLOCK;
	vfs(IOTR_VFS_DIO_WRITE, wrote);
	selftest_note(IOTR_BLOCK, IOTR_BLOCK_WRITE, wrote, ground.disk);
	read = pread(fd, bytes, BLOCK, 0) == BLOCK;
	vfs(IOTR_VFS_DIO_READ, read);
	selftest_note(IOTR_BLOCK, IOTR_BLOCK_READ, read, ground.disk);
	close(fd);
}

void selftest_files(void)
{
	int fd = open("file", O_CREAT | O_RDWR | O_CLOEXEC, 0600), other;

	vfs(IOTR_VFS_OPEN, fd >= 0);
	if (fd < 0)
		return;
	ground_find(fd);
	reads_and_writes(fd);
	maps(fd);
	other = open("other", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	pipes(fd, other);
	vfs(IOTR_VFS_FALLOCATE, fallocate(other, 0, 0, BLOCK) == 0);
	vfs(IOTR_VFS_CLOSE, close(other) == 0);
	names(fd);
	attributes();
	mounts();
	direct();
	if (pread(fd, bytes, BLOCK, BLOCK) != BLOCK) /* so that there are cached pages to invalidate */
		return;
	vfs(IOTR_VFS_TRUNCATE, ftruncate(fd, 0) == 0);
	cache(IOTR_CACHE_INVALIDATE, true);
	close(fd);
}

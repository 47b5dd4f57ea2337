// SPDX-License-Identifier: GPL-2.0-or-later
#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cleanup.h"

#define ALONE_FILE   0600 /* until the group is set */
#define ALONE_FOLDER 0700

/*
 * The thread's file-system user: setfsuid() with an invalid value changes nothing and returns the present one.
 */
static uid_t our_user(void)
{
	return (uid_t)setfsuid((uid_t)-1);
}

static gid_t our_group(void)
{
	return (gid_t)setfsgid((gid_t)-1);
}

static bool is_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

/* Removes an inherited ACL: otherwise the group bits of the new mode would give its entries access again. */
static bool remove_acl(int fd, const char *attribute)
{
	return !fremovexattr(fd, attribute) || errno == ENODATA || errno == EOPNOTSUPP;
}

void inside_claim(int fd, mode_t mode)
{
	if (our_user() || fchown(fd, (uid_t)-1, our_group()) < 0)
		return;
	if (remove_acl(fd, "system.posix_acl_access") && remove_acl(fd, "system.posix_acl_default") &&
	    fchmod(fd, mode) < 0)
		return; /* it stays accessible to its owner alone */
}

int inside_folder(int folder, const char *name)
{
	int fd;

	if (!is_name(name))
		return -EINVAL;
	fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int inside_make_folder(int folder, const char *name)
{
	int fd;

	if (!is_name(name))
		return -EINVAL;
	if (mkdirat(folder, name, our_user() ? INSIDE_FOLDER_MODE : ALONE_FOLDER) < 0)
		return -errno;
	fd = inside_folder(folder, name);
	if (fd >= 0)
		inside_claim(fd, INSIDE_FOLDER_MODE);
	return fd;
}

/* A file with a second link is refused, as that may be in another folder, of another owner. */
static int check(int folder, int fd, uint64_t most)
{
	struct stat file, above;

	if (fstat(fd, &file) < 0 || fstat(folder, &above) < 0)
		return -errno;
	if (!S_ISREG(file.st_mode) || file.st_nlink != 1 ||
	    (file.st_uid != our_user() && file.st_uid != above.st_uid))
		return -EPERM;
	return (uint64_t)file.st_size > most ? -EFBIG : 0;
}

int inside_open(int folder, const char *name, int flags, uint64_t most)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (!is_name(name))
		return -EINVAL;
	fd = openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENXIO ? -EPERM : -errno;
	r = check(folder, fd, most);
	return r < 0 ? r : take_fd(&fd);
}

int inside_create(int folder, const char *name, int flags)
{
	int fd;

	if (!is_name(name))
		return -EINVAL;
	fd = openat(folder, name, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    our_user() ? INSIDE_FILE_MODE : ALONE_FILE);
	if (fd < 0)
		return -errno;
	inside_claim(fd, INSIDE_FILE_MODE);
	return fd;
}

/* Bytes added to the file meanwhile are not read; it may also have become shorter. */
static ssize_t read_all(int fd, char *text, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(fd, text + done, size - done, (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int inside_read(int folder, const char *name, uint64_t most, char **ret, size_t *ret_size)
{
	_cleanup_close_ int fd = inside_open(folder, name, O_RDONLY, most);
	_cleanup_free_ char *text = NULL;
	struct stat status;
	ssize_t size;

	if (fd < 0)
		return fd;
	if (fstat(fd, &status) < 0)
		return -errno;
	if ((uint64_t)status.st_size > most)
		return -EFBIG;
	text = malloc((size_t)status.st_size + 1);
	if (!text)
		return -ENOMEM;
	size = read_all(fd, text, (size_t)status.st_size);
	if (size < 0)
		return (int)size;
	text[size] = '\0';
	*ret = TAKE(text);
	*ret_size = (size_t)size;
	return 0;
}

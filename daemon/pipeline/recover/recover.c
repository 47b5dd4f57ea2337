// SPDX-License-Identifier: GPL-2.0-or-later
#include "recover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "recover_private.h"
#include "storage/manifest_file.h"
#include "tree.h"

/*
 * Opens the folder at an absolute path without following a symbolic link, one component after the other: openat2(2)
 * would do that at once, but a service that may make no set-user-ID files (RestrictSUIDSGID=) is refused it.
 */
static int reach(const char *path, int flags)
{
	_cleanup_free_ char *copy = strdup(path);
	_cleanup_close_ int fd = tree_open("/", O_PATH | O_DIRECTORY);
	char *rest = NULL;
	int found;

	if (!copy)
		return -ENOMEM;
	for (char *name = strtok_r(copy, "/", &rest); name && fd >= 0; name = strtok_r(NULL, "/", &rest)) {
		int below = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (below < 0)
			return -errno;
		close(fd);
		fd = below;
	}
	if (fd < 0)
		return -errno;
	if (flags & O_PATH)
		return take_fd(&fd);
	found = openat(fd, ".", flags | O_DIRECTORY | O_CLOEXEC);
	return found < 0 ? -errno : found;
}

static int open_folder(const struct recover_config *config)
{
	int fd = reach(config->output, O_RDONLY);
	struct stat status;

	if (fd < 0)
		return fd;
	if (!fstat(fd, &status) && status.st_ino == config->inode)
		return fd;
	close(fd);
	return -ESTALE;
}

static int recover(struct recovery *recovery)
{
	int r;

	unlinkat(recovery->folder_fd, MANIFEST_NAME ".tmp", 0);
	json_object_object_foreach(json_object_object_get(recovery->manifest, "streams"), flag, description) {
		r = recover_stream(recovery, flag, description);
		if (r < 0)
			return r;
	}
	recover_cgroups(recovery);
	recover_manifest_end(recovery);
	r = manifest_file_replace(recovery->folder_fd, NULL, recovery->manifest, &recovery->segments, NULL);
	json_object_object_foreach(json_object_object_get(recovery->manifest, "streams"), of, told) {
		(void)of;
		if (r >= 0)
			recover_forget_marks(recovery->folder_fd, string_of(told, "folder"));
	}
	if (r >= 0 && syncfs(recovery->folder_fd) < 0)
		r = -errno;
	return r < 0 ? r : 1;
}

/* Like rmdir(2), but no symbolic link in the path is followed. */
int recover_remove_empty(const char *path)
{
	_cleanup_free_ char *parent = strdup(path);
	_cleanup_close_ int fd = -1;
	char *slash = parent ? strrchr(parent, '/') : NULL;

	if (!slash)
		return parent ? -EINVAL : -ENOMEM;
	*slash = '\0';
	fd = reach(parent, O_PATH);
	if (fd < 0)
		return fd;
	if (unlinkat(fd, slash + 1, AT_REMOVEDIR) < 0)
		return -errno;
	return 0;
}

int recover_extent(const struct recover_config *config, struct recover_extent *ret)
{
	const struct rights *before = rights_use(config->rights);
	_cleanup_close_ int fd = open_folder(config);
	int r = fd < 0 ? fd : recover_manifest_extent(fd, ret);

	rights_use(before);
	return r;
}

static int recover_as(const struct recover_config *config)
{
	_cleanup_close_ int fd = open_folder(config);
	struct recovery recovery = { .config = config, .folder_fd = fd };
	int r;

	if (fd < 0)
		return fd;
	r = recover_manifest_begin(&recovery);
	if (r > 0)
		r = recover(&recovery);
	recover_manifest_done(&recovery);
	return r;
}

int recover_folder(const struct recover_config *config)
{
	const struct rights *before = rights_use(config->rights);
	int r = recover_as(config);

	rights_use(before);
	return r;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "recover.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"
#include "recover_private.h"
#include "storage/manifest_file.h"

static int open_folder(const struct recover_config *config)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS,
	};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, config->output, &how, sizeof(how));
	struct stat status;

	if (fd < 0)
		return -errno;
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
	if (r >= 0 && syncfs(recovery->folder_fd) < 0)
		r = -errno;
	return r < 0 ? r : 1;
}

/* Like rmdir(2), but no symbolic link in the path is followed. */
int recover_remove_empty(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	_cleanup_free_ char *parent = strdup(path);
	_cleanup_close_ int fd = -1;
	char *slash = parent ? strrchr(parent, '/') : NULL;

	if (!slash)
		return parent ? -EINVAL : -ENOMEM;
	*slash = '\0';
	fd = (int)syscall(SYS_openat2, AT_FDCWD, *parent ? parent : "/", &how, sizeof(how));
	if (fd < 0 || unlinkat(fd, slash + 1, AT_REMOVEDIR) < 0)
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

// SPDX-License-Identifier: GPL-2.0-or-later
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/acl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#include "cleanup.h"
#include "protocol.h"
#include "rights.h"
#include "role.h"

enum { BACKLOG = 64 };

bool listener_is_served(const char *path)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;

	if (fd < 0 || iotr_socket_address(path, &address) < 0)
		return false;
	return !connect(fd, (struct sockaddr *)&address, sizeof(address)) || errno == EAGAIN;
}

static int remove_stale(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	return unlink(path) < 0 ? -errno : 0;
}

/* Until the group is set, only root may connect. */
static int bind_closed(int fd, const struct sockaddr_un *address)
{
	mode_t saved = umask(0177);
	int r = bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? -errno : 0;

	umask(saved);
	return r;
}

/* An owner may give his file to a group of his, which the thread's file-system group is one of: that takes no capability. */
static int open_to_group(const char *path, gid_t group)
{
	const struct rights own = { .gid = group }, *before;
	int r;

	if (group == GROUP_NONE)
		return 0;
	before = rights_use(&own);
	r = chown(path, (uid_t)-1, group) < 0 || chmod(path, 0660) < 0 ? -errno : 0;
	rights_use(before);
	return r;
}

int listener_open(const char *path, gid_t group, int *ret)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	int r;

	if (fd < 0)
		return -errno;
	r = iotr_socket_address(path, &address);
	if (r < 0)
		return r;
	r = remove_stale(path);
	if (r < 0)
		return r;
	r = bind_closed(fd, &address);
	if (r < 0)
		return r;
	r = open_to_group(path, group);
	if (r < 0)
		return r;
	if (listen(fd, BACKLOG) < 0)
		return -errno;
	*ret = take_fd(&fd);
	return 0;
}

static int add_entry(acl_t *list, acl_tag_t tag, const void *qualifier, bool open)
{
	acl_entry_t entry;
	acl_permset_t permissions;

	if (acl_create_entry(list, &entry) < 0 || acl_set_tag_type(entry, tag) < 0 ||
	    acl_get_permset(entry, &permissions) < 0)
		return -errno;
	if (qualifier && acl_set_qualifier(entry, qualifier) < 0)
		return -errno;
	if (open && (acl_add_perm(permissions, ACL_READ) < 0 || acl_add_perm(permissions, ACL_WRITE) < 0))
		return -errno;
	return 0;
}

static void free_list(acl_t *list)
{
	acl_free(*list);
}

/* What mode 0660 gives owner and group, and the same to one more group. */
static int set_list(const char *path, gid_t group)
{
	static const struct {
		acl_tag_t tag;
		bool qualified, open;
	} entries[] = {
		{ ACL_USER_OBJ, false, true }, { ACL_GROUP_OBJ, false, true }, { ACL_GROUP, true, true },
		{ ACL_MASK, false, true },     { ACL_OTHER, false, false },
	};
	_cleanup_(free_list) acl_t list = acl_init(sizeof(entries) / sizeof(entries[0]));

	if (!list)
		return -errno;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		int r = add_entry(&list, entries[i].tag, entries[i].qualified ? &group : NULL, entries[i].open);

		if (r < 0)
			return r;
	}
	return acl_set_file(path, ACL_TYPE_ACCESS, list) < 0 ? -errno : 0;
}

int listener_admit(int fd, gid_t group)
{
	struct sockaddr_un address = { 0 };
	socklen_t size = sizeof(address) - 1; /* a NUL stays behind the path */

	if (getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return -errno;
	if (group == GROUP_NONE || address.sun_family != AF_UNIX || address.sun_path[0] != '/')
		return 0;
	return set_list(address.sun_path, group);
}

int listener_take(int fd)
{
	int flags, r = sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0);

	if (r <= 0)
		return r < 0 ? r : -EPROTOTYPE;
	flags = fcntl(fd, F_GETFL);
	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

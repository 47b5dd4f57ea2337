// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/cgroups.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "probes/filter_maps.h"
#include "probes/mount_table.h"
#include "tree.h"

#define TREE_DEPTH  IOTR_CGROUP_LEVELS
#define NO_CGROUPS                                                                              \
	"cgroup v2 is not mounted here: the kernel tells the cgroups of its hierarchy alone. "  \
	"Boot with systemd.unified_cgroup_hierarchy=1, or mount it"

/* ---- cgroups by their path ---- */

/* "/sys/fs/cgroup/a", "/a" and "a" are the same if cgroup v2 is mounted at /sys/fs/cgroup. */
static int full_path(const char *mount, const char *path, char *full, size_t size)
{
	size_t length = strlen(mount);

	if (!strncmp(path, mount, length) && (path[length] == '/' || !path[length]))
		path += length;
	return (size_t)snprintf(full, size, "%s/%s", mount, path) < size ? 0 : -ENAMETOOLONG;
}

/* The kernel's id of a cgroup, which on cgroup v2 is the inode number of its folder. */
static int cgroup_number(const char *path, uint64_t *number, struct filter_error *error)
{
	char mount[PATH_MAX], full[2 * PATH_MAX];
	struct stat st, root;
	int r = mount_cgroups(mount, sizeof(mount));

	if (r < 0)
		return filter_fail(error, r, "cgroups", NO_CGROUPS);
	if (full_path(mount, path, full, sizeof(full)) < 0 || tree_stat(full, &st) < 0 || tree_stat(mount, &root) < 0)
		return filter_fail(error, -EINVAL, "cgroups", "there is no cgroup '%.200s' in %.100s: %s", path,
				   mount, strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_dev != root.st_dev)
		return filter_fail(error, -EINVAL, "cgroups", "'%.200s' is no cgroup of version 2", path);
	*number = st.st_ino;
	return 0;
}

/* ---- cgroups of units ---- */

struct units {
	const struct iotr_session_spec *spec;
	int map;
	uint64_t bit;
};

static bool unit_named(const struct units *units, const char *name)
{
	for (size_t i = 0; i < units->spec->unit_count; i++)
		if (!strcmp(units->spec->units[i], name))
			return true;
	return false;
}

/* Accepts the cgroups at any depth below the folder that have the name of a unit. Closes the descriptor. */
static int units_find(const struct units *units, int fd, unsigned int depth)
{
	DIR *folder = fdopendir(fd);
	struct dirent *entry;
	int r = 0;

	if (!folder) {
		close(fd);
		return 0; /* the cgroup was removed meanwhile */
	}
	while (r >= 0 && depth < TREE_DEPTH && (entry = readdir(folder))) {
		uint64_t number = entry->d_ino;
		int below;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if (unit_named(units, entry->d_name))
			r = filter_key_change(units->map, &number, units->bit, true);
		below = openat(dirfd(folder), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (r >= 0 && below >= 0)
			r = units_find(units, below, depth + 1);
		else if (below >= 0)
			close(below);
	}
	closedir(folder);
	return r;
}

/* Sets the names for the kernel side first, which adds cgroups made from then on; then finds those that exist. */
static int units_set(struct probes *probes, uint64_t bit, const struct iotr_session_spec *spec,
		     struct filter_error *error)
{
	struct units units = { spec, probes_map(probes, "accept_cgroup"), bit };
	char mount[PATH_MAX];
	int fd, r = 0;

	for (size_t i = 0; i < spec->unit_count && r >= 0; i++)
		r = filter_key_change(probes_map(probes, "accept_unit"), spec->units[i], bit, true);
	if (r >= 0)
		r = mount_cgroups(mount, sizeof(mount));
	fd = r < 0 ? -1 : tree_open(mount, O_RDONLY | O_DIRECTORY);
	if (r >= 0)
		r = fd < 0 ? -errno : units_find(&units, fd, 0);
	return r < 0 ? filter_fail(error, r, "units", "the cgroups of units cannot be followed: %s",
				   strerror(-r)) :
		       0;
}

int cgroups_set(struct probes *probes, uint64_t bit, const struct iotr_session_spec *spec,
		struct filter_error *error)
{
	int map = probes_map(probes, "accept_cgroup"), r = 0;
	uint64_t number;

	if (!spec->cgroup_count && !spec->unit_count)
		return 0;
	for (size_t i = 0; i < spec->cgroup_count; i++) {
		r = cgroup_number(spec->cgroups[i], &number, error);
		if (r < 0)
			return r;
		r = filter_key_change(map, &number, bit, true);
		if (r < 0)
			return filter_fail(error, r, "cgroups", "too many cgroups over all sessions");
	}
	if (spec->unit_count)
		r = units_set(probes, bit, spec, error);
	if (r < 0)
		return r;
	probes_page(probes)->filtered[IOTR_FILTER_CGROUP] |= bit;
	probes_page(probes)->cgroup_generation++;
	return 0;
}

int cgroups_check(const struct iotr_session_spec *spec, struct filter_error *error)
{
	char mount[PATH_MAX];
	uint64_t number;
	int r = 0;

	for (size_t i = 0; i < spec->cgroup_count && r >= 0; i++)
		r = cgroup_number(spec->cgroups[i], &number, error);
	if (r >= 0 && spec->unit_count && mount_cgroups(mount, sizeof(mount)) < 0)
		return filter_fail(error, -EINVAL, "units", NO_CGROUPS);
	return r;
}

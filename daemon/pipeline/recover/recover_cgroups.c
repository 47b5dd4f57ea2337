// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of cgroups that a killed daemon left. */
#include "recover_private.h"

#include <errno.h>
#include <string.h>

#include "cgroups/file.h"
#include "json_add.h"
#include "log.h"

static bool is_listed(struct json_object *snapshots)
{
	for (size_t i = 0; i < count_of(snapshots); i++) {
		const char *kind = string_of(json_object_array_get_idx(snapshots, i), "kind");

		if (kind && !strcmp(kind, CGROUPS_FOLDER))
			return true;
	}
	return false;
}

void recover_cgroups(struct recovery *recovery)
{
	struct json_object *snapshots = json_object_object_get(recovery->manifest, "snapshots"), *entry;
	struct cgroup_file file;
	int r;

	if (is_listed(snapshots))
		return;
	r = cgroup_file_recover(recovery->folder_fd, &file);
	if (r < 0 && r != -ENOENT)
		log_warning("%s: the table of cgroups cannot be recovered: %s", recovery->config->output, strerror(-r));
	if (r < 0)
		return;
	entry = cgroup_file_describe(&file);
	add_flag(entry, "complete", false);
	add_u64(entry, "skipped", 0);
	add_flag(entry, "recovered", true);
	if (!json_object_is_type(snapshots, json_type_array)) {
		snapshots = json_object_new_array();
		json_object_object_add(recovery->manifest, "snapshots", snapshots);
	}
	json_object_array_add(snapshots, entry);
}

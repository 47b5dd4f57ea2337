// SPDX-License-Identifier: GPL-2.0-or-later
#include "mount_list.h"

#include <errno.h>
#include <libmount.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "pseudo_fs.def"
#include "tree.h"

int mount_list_read(const char *file, struct mount_list *list)
{
	*list = (struct mount_list){ mnt_new_table(), mnt_new_iter(MNT_ITER_FORWARD) };
	if (!list->table || !list->position)
		return -ENOMEM;
	return mnt_table_parse_file(list->table, file ?: tree_mounts());
}

bool mount_list_next(struct mount_list *list, struct mount_entry *ret)
{
	struct libmnt_fs *mount;
	dev_t device;

	if (mnt_table_next_fs(list->table, list->position, &mount))
		return false;
	device = mnt_fs_get_devno(mount);
	*ret = (struct mount_entry){
		.id = (uint64_t)mnt_fs_get_id(mount),
		.device = major(device) << 20 | minor(device),
		.path = mnt_fs_get_target(mount) ?: "",
		.root = mnt_fs_get_root(mount) ?: "",
		.type = mnt_fs_get_fstype(mount) ?: "",
		.source = mnt_fs_get_source(mount) ?: "",
		.options = mnt_fs_get_vfs_options(mount) ?: "",
	};
	return true;
}

void mount_list_done(struct mount_list *list)
{
	mnt_free_iter(list->position);
	mnt_unref_table(list->table);
	*list = (struct mount_list){ 0 };
}

bool mount_is_pseudo(const char *type)
{
#define TYPE(name, ...) name,
	static const char *const types[] = { IOTR_PSEUDO_FS(TYPE) IOTR_PSEUDO_MOUNTS(TYPE) };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i], type))
			return true;
	return false;
}

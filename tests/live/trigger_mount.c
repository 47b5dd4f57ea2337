// SPDX-License-Identifier: GPL-2.0-or-later
/* Other mounts, in a mount namespace of their own that ends with the program. */
#include "trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

static bool separate(void)
{
	if (!unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return true;
	note_missing("mount namespaces");
	return false;
}

static void read_there(const char *name)
{
	static char space[100];
	struct file file = file_make(name, O_RDONLY, 100);

	SYS(SYS_pread64, file.fd, space, 10, 20);
	row("READ");
	row_file(&file);
	row_io(10, 20);
}

static void run_other_mount(void)
{
	mkdir("other", 0755);
	if (!separate())
		return;
	if (mount("none", "other", "tmpfs", 0, NULL))
		return note_missing("tmpfs");
	read_there("other/file");
	SYS(SYS_mkdirat, AT_FDCWD, "other/dir", 0755);
	row("MKDIR");
	row_path("other/dir");
}

static void run_bind_mount(void)
{
	mkdir("from", 0755);
	mkdir("from/below", 0755);
	mkdir("to", 0755);
	if (!separate())
		return;
	if (mount("from", "to", NULL, MS_BIND, NULL))
		die("bind mount");
	read_there("to/below/file");
	if (chdir("to/below"))
		die("chdir");
	read_there("second");
	SYS(SYS_unlinkat, AT_FDCWD, "second", 0);
	row("UNLINK");
	row_path("to/below/second");
}

static void run_mount(void)
{
	mkdir("from", 0755);
	mkdir("to", 0755);
	if (!separate())
		return;
	SYS(SYS_mount, "some tmpfs", "to", "tmpfs", MS_NOSUID | MS_NODEV, NULL);
	row_mount("some tmpfs", "to", "MS_NOSUID|MS_NODEV");
	SYS(SYS_mount, NULL, "to", NULL, 0xc0ed0000 | MS_REMOUNT | MS_RDONLY, NULL);
	row_mount("...", "to", "MS_RDONLY|MS_REMOUNT");
	SYS(SYS_mount, "./from", "./to/../to", NULL, MS_BIND | MS_REC, NULL);
	row_mount("./from", "to", "MS_BIND|MS_REC");
	SYS(SYS_mount, "nothing", "missing", "tmpfs", 0, NULL);
	row_mount("nothing", "missing", "0");
}

static void run_umount(void)
{
	mkdir("to", 0755);
	if (!separate() || mount("none", "to", "tmpfs", 0, NULL))
		return;
	SYS(SYS_umount2, "to", MNT_DETACH | UMOUNT_NOFOLLOW);
	row("UMOUNT");
	row_path("to");
	row_text("flags", "MNT_DETACH|UMOUNT_NOFOLLOW");
	SYS(SYS_umount2, "to", 0);
	row("UMOUNT");
	row_path("to");
	row_text("flags", "0");
}

/* struct mount_attr of the kernel. */
struct attributes {
	uint64_t set, clear, propagation, userns;
};

static void run_move_mount(void)
{
	struct attributes attributes = { .set = 1 }; /* MOUNT_ATTR_RDONLY */
	char from[2 * PATH_MAX];

	mkdir("from", 0755);
	mkdir("to", 0755);
	if (!separate() || mount("none", "from", "tmpfs", 0, NULL))
		return;
	SYS(SYS_move_mount, AT_FDCWD, "from", AT_FDCWD, "to", 0x10);
	row_mount(absolute(from, "from"), "to", "MOVE_MOUNT_T_SYMLINKS");
	SYS(SYS_pivot_root, "to", "from"); /* which is not below */
	row("MOUNT");
	row_pair("to", "from");
	SYS(SYS_mount_setattr, AT_FDCWD, "to", AT_RECURSIVE, &attributes, sizeof(attributes));
	if (last.ret == -ENOSYS) {
		row("MOUNT");
		row_optional();
		return note_missing("mount_setattr");
	}
	row_mount("...", "to", "AT_RECURSIVE");
}

const struct trigger mount_triggers[] = {
	{ .name = "mount", .operations = "MOUNT", .run = run_mount },
	{ .name = "umount", .operations = "UMOUNT", .run = run_umount },
	{ .name = "move_mount", .operations = "MOUNT", .run = run_move_mount },
	{ .name = "other_mount", .operations = "READ,MKDIR", .run = run_other_mount },
	{ .name = "bind_mount", .operations = "READ,UNLINK", .run = run_bind_mount },
	{ 0 },
};

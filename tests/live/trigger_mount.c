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

const struct trigger mount_triggers[] = {
	{ .name = "other_mount", .operations = "READ,MKDIR", .run = run_other_mount },
	{ .name = "bind_mount", .operations = "READ,UNLINK", .run = run_bind_mount },
	{ 0 },
};

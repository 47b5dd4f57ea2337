// SPDX-License-Identifier: GPL-2.0-or-later
/* Names that are long, strange, changed, gone or several. */
#include "trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char space[4096];

/* One open, read and close, each with the name that the file has now. */
static void use(int dir, const char *name)
{
	struct file file;
	int fd = (int)SYS(SYS_openat, dir, name, O_RDWR | O_CREAT, 0644);

	if (fd < 0)
		die(name);
	row("OPEN");
	file = file_of(fd);
	row_file(&file);
	row_text("flags", "O_RDWR|O_CREAT");
	SYS(SYS_pread64, fd, space, 10, 0);
	row("READ");
	row_file(&file);
	row_io(10, 0);
	SYS(SYS_close, fd);
	row("CLOSE");
	row_file(&file);
}

static void run_long_name(void)
{
	char name[256], other[256];

	memset(name, 'n', 255);
	memset(other, 'm', 255);
	name[255] = other[255] = '\0';
	use(AT_FDCWD, name);
	SYS(SYS_renameat, AT_FDCWD, name, AT_FDCWD, other);
	row("RENAME");
	row_pair(name, other);
	SYS(SYS_unlinkat, AT_FDCWD, other, 0);
	row("UNLINK");
	row_path(other);
}

/* Goes down until the working directory's path has LENGTH bytes. */
static void descend(size_t length)
{
	char name[201], here[PATH_MAX];

	memset(name, 'd', 200);
	while (getcwd(here, sizeof(here)) && strlen(here) + 1 < length) {
		size_t rest = length - strlen(here) - 1;

		name[rest < 200 ? rest : 200] = '\0';
		if (mkdir(name, 0755) || chdir(name))
			die("going down");
	}
}

static void long_path_names(const char *here)
{
	char path[2 * PATH_MAX];

	SYS(SYS_mkdirat, AT_FDCWD, "dir", 0755);
	row("MKDIR");
	snprintf(path, sizeof(path), "%s/dir", here);
	row_text("filename", path);
	SYS(SYS_unlinkat, AT_FDCWD, "file", 0);
	row("UNLINK");
	snprintf(path, sizeof(path), "%s/file", here);
	row_text("filename", path);
	SYS(SYS_openat, AT_FDCWD, "missing", O_RDONLY);
	row("OPEN");
	snprintf(path, sizeof(path), "%s/missing", here);
	row_text("filename", path);
}

static void run_long_path(void)
{
	char here[PATH_MAX];
	int dir;

	descend(4000);
	dir = open(".", O_RDONLY | O_DIRECTORY);
	if (!getcwd(here, sizeof(here)) || dir < 0)
		die("going down");
	use(AT_FDCWD, "file");
	use(dir, "file");
	long_path_names(here);
}

/* As many folders as a name may be sent of at once, but for those above the working directory. */
static void run_deep_path(void)
{
	for (int level = 0; level < 200; level++)
		if (mkdir("d", 0755) || chdir("d"))
			die("going down");
	use(AT_FDCWD, "file");
}

/* Deeper than a path can say: the rows must be there all the same. */
static void run_too_long_path(void)
{
	char name[201];
	int fd;

	descend(4000);
	memset(name, 'e', 200);
	name[200] = '\0';
	if (mkdir(name, 0755) || chdir(name))
		die("going down");
	fd = (int)SYS(SYS_openat, AT_FDCWD, "file", O_RDWR | O_CREAT, 0644);
	row("OPEN");
	SYS(SYS_pread64, fd, space, 10, 0);
	row("READ");
	row_io(10, 0);
	SYS(SYS_close, fd);
	row("CLOSE");
}

static const char *const strange[] = {
	"new\nline",
	"quo\"te",
	"comma,name",
	"back\\slash",
	"one\001",
	"byte\377byte",
	"two -> one",
	"caf\303\251",
	" leading and trailing ",
	"carriage\rreturn",
	"tab\there",
	"\\x41",
	"'",
	"-rf",
	"cut\303",
	"=1+1",
};

static void run_strange_names(void)
{
	for (size_t i = 0; i < sizeof(strange) / sizeof(*strange); i++) {
		use(AT_FDCWD, strange[i]);
		SYS(SYS_linkat, AT_FDCWD, strange[i], AT_FDCWD, "plain", 0);
		row("LINK");
		row_pair(strange[i], "plain");
		unlink("plain");
	}
}

static void read_as(struct file *file)
{
	file_refresh(file);
	SYS(SYS_pread64, file->fd, space, 10, 20);
	row("READ");
	row_file(file);
	row_io(10, 20);
}

static void run_renamed(void)
{
	struct file file = file_make("before", O_RDONLY, 100);

	read_as(&file);
	SYS(SYS_renameat, AT_FDCWD, "before", AT_FDCWD, "after");
	row("RENAME");
	row_pair("before", "after");
	read_as(&file);
}

static void run_parent_renamed(void)
{
	struct file file;

	mkdir("old", 0755);
	mkdir("old/below", 0755);
	file = file_make("old/below/file", O_RDONLY, 100);
	read_as(&file);
	if (rename("old", "new"))
		die("rename");
	read_as(&file);
}

static void run_deleted(void)
{
	struct file file = file_make("gone", O_RDWR, 100);

	read_as(&file);
	if (unlink("gone"))
		die("unlink");
	read_as(&file);
	SYS(SYS_fsync, file.fd);
	row("FSYNC");
	row_file(&file);
	SYS(SYS_close, file.fd);
	row("CLOSE");
	row_file(&file);
}

static void run_tmpfile(void)
{
	struct file file;
	int fd = (int)SYS(SYS_openat, AT_FDCWD, ".", O_TMPFILE | O_RDWR, 0600);

	if (fd < 0)
		return note_missing("O_TMPFILE");
	file = file_of(fd);
	row("OPEN");
	row_number("inode", (long long)file.inode);
	row_text("flags_has", "O_TMPFILE");
	SYS(SYS_pwrite64, fd, space, 30, 0);
	row("WRITE");
	row_text("filename", file.path);
	row_number("inode", (long long)file.inode);
	row_io(30, 0);
}

static void run_relative(void)
{
	int dir;

	mkdir("a", 0755);
	mkdir("a/b", 0755);
	if (chdir("a"))
		die("chdir");
	use(AT_FDCWD, "one");
	dir = open("b", O_PATH | O_DIRECTORY);
	use(dir, "../two");
	use(dir, ".././b/../three");
	SYS(SYS_mkdirat, dir, "../c/", 0755);
	row("MKDIR");
	row_path("a/c");
	SYS(SYS_unlinkat, dir, "../one", 0);
	row("UNLINK");
	row_path("a/one");
	SYS(SYS_unlinkat, dir, "/../nowhere/./missing", 0);
	row("UNLINK");
	row_text("filename", "/nowhere/missing");
}

static void run_hard_link(void)
{
	struct file one = file_make("one", O_RDONLY, 100), two;

	if (link("one", "two"))
		die("link");
	two = file_of(open("two", O_RDONLY));
	read_as(&one);
	read_as(&two);
	if (unlink("one"))
		die("unlink");
	read_as(&two);
	read_as(&one);
}

/* What was opened through a symbolic link has its own name in the rows of its descriptor. */
static void run_soft_link(void)
{
	struct file file;

	touch("real", 100);
	if (symlink("real", "soft"))
		die("symlink");
	file = file_of(open("soft", O_RDONLY));
	read_as(&file);
}

/* The number of a deleted file comes back under another name. */
static void run_inode_reuse(void)
{
	char name[32];

	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "round-%d", i);
		use(AT_FDCWD, name);
		unlink(name);
	}
}

/* The same descriptor number, each time another file. */
static void run_descriptor_reuse(void)
{
	char name[32];
	struct file file;

	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "file-%d", i);
		file = file_make(name, O_RDONLY, 100);
		read_as(&file);
		close(file.fd);
	}
}

/* Descriptors past the table that a process starts with. */
static void run_high_descriptor(void)
{
	struct file file = file_make("one", O_RDONLY, 100);

	file.fd = fcntl(file.fd, F_DUPFD, 300);
	if (file.fd < 0)
		die("F_DUPFD");
	read_as(&file);
}

const struct trigger names_triggers[] = {
	{ .name = "long_name",
	  .operations = "OPEN,READ,CLOSE,RENAME,UNLINK",
	  .run = run_long_name },
	{ .name = "deep_path", .operations = "OPEN,READ,CLOSE", .run = run_deep_path },
	{ .name = "long_path", .operations = "OPEN,READ,CLOSE,MKDIR,UNLINK", .run = run_long_path },
	{ .name = "too_long_path", .operations = "OPEN,READ,CLOSE", .run = run_too_long_path },
	{ .name = "strange_names", .operations = "OPEN,READ,CLOSE,LINK", .run = run_strange_names },
	{ .name = "renamed", .operations = "READ,RENAME", .run = run_renamed },
	{ .name = "parent_renamed", .operations = "READ", .run = run_parent_renamed },
	{ .name = "deleted", .operations = "READ,FSYNC,CLOSE", .run = run_deleted },
	{ .name = "tmpfile", .operations = "OPEN,WRITE", .run = run_tmpfile },
	{ .name = "relative", .operations = "OPEN,READ,CLOSE,MKDIR,UNLINK", .run = run_relative },
	{ .name = "hard_link", .operations = "READ", .run = run_hard_link },
	{ .name = "soft_link", .operations = "READ", .run = run_soft_link },
	{ .name = "inode_reuse", .operations = "OPEN,READ,CLOSE", .run = run_inode_reuse },
	{ .name = "descriptor_reuse", .operations = "READ", .run = run_descriptor_reuse },
	{ .name = "high_descriptor", .operations = "READ", .run = run_high_descriptor },
	{ 0 },
};

// SPDX-License-Identifier: GPL-2.0-or-later
/* Data moved between descriptors inside the kernel: the row is the input file's. */
#include "trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LENGTH = 32768 };

static void row_end_of(const char *operation, const struct file *file)
{
	row(operation);
	row_text("filename", file->path);
	row_number("inode", (long long)file->inode);
	row_text("device", file->device);
	row_number("fd", file->fd);
}

static void run_sendfile(void)
{
	struct file in = file_make("input", O_RDONLY, LENGTH),
		    out = file_make("output", O_WRONLY, 0);
	long long offset = 4096;
	int pair[2];

	SYS(SYS_sendfile, out.fd, in.fd, NULL, 1000);
	row_end_of("SENDFILE", &in);
	row_io(1000, 0);
	SYS(SYS_sendfile, out.fd, in.fd, NULL, 1500);
	row_end_of("SENDFILE", &in);
	row_io(1500, 1000);
	SYS(SYS_sendfile, out.fd, in.fd, &offset, 2000);
	row_end_of("SENDFILE", &in);
	row_io(2000, 4096);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		die("socketpair");
	offset = LENGTH - 100;
	SYS(SYS_sendfile, pair[0], in.fd, &offset, 5000);
	row_end_of("SENDFILE", &in);
	row_io(5000, LENGTH - 100);
}

static void run_splice(void)
{
	struct file in = file_make("input", O_RDONLY, LENGTH),
		    out = file_make("output", O_WRONLY, 0);
	long long offset = 8192;
	int ends[2], others[2];

	if (pipe(ends) || pipe(others))
		die("pipe");
	SYS(SYS_splice, in.fd, &offset, ends[1], NULL, 3000, SPLICE_F_MOVE | SPLICE_F_MORE);
	row_end_of("SPLICE", &in);
	row_io(3000, 8192);
	row_text("flags", "SPLICE_F_MOVE|SPLICE_F_MORE");
	SYS(SYS_splice, ends[0], NULL, out.fd, NULL, 3000, SPLICE_F_NONBLOCK);
	row_end_of("SPLICE", &out);
	row_io(3000, 0); /* of the file that the row names */
	row_text("flags", "SPLICE_F_NONBLOCK");
	SYS(SYS_splice, in.fd, NULL, ends[1], NULL, 4000, 0);
	row_end_of("SPLICE", &in);
	row_io(4000, 0);
	SYS(SYS_splice, in.fd, NULL, ends[1], NULL, 100, SPLICE_F_MOVE);
	row_end_of("SPLICE", &in);
	row_io(100, 4000);
	row_text("flags", "SPLICE_F_MOVE");
	/* Nothing but pipes: no row. */
	SYS(SYS_tee, ends[0], others[1], 1000, 0);
	SYS(SYS_splice, ends[0], NULL, others[1], NULL, 1000, 0);
}

static void run_vmsplice(void)
{
	static char space[8192];
	struct iovec parts[2] = { { space, 1000 }, { space + 4096, 2000 } };
	int ends[2];

	if (pipe(ends))
		die("pipe");
	SYS(SYS_vmsplice, ends[1], parts, 2, SPLICE_F_NONBLOCK);
	row("VMSPLICE");
	row_empty("filename");
	row_number("size", 3000);
	row_number("fd", ends[1]);
	row_text("flags", "SPLICE_F_NONBLOCK");
}

static void run_copy_file_range(void)
{
	struct file in = file_make("input", O_RDONLY, LENGTH),
		    out = file_make("output", O_WRONLY, 0);
	long long from = 4096, to = 0;

	SYS(SYS_copy_file_range, in.fd, NULL, out.fd, NULL, 1000, 0);
	row_end_of("COPY_FILE_RANGE", &in);
	row_io(1000, 0);
	SYS(SYS_copy_file_range, in.fd, &from, out.fd, &to, 2000, 0);
	row_end_of("COPY_FILE_RANGE", &in);
	row_io(2000, 4096);
	SYS(SYS_copy_file_range, in.fd, NULL, out.fd, NULL, 1 << 20, 0);
	row_end_of("COPY_FILE_RANGE", &in);
	row_io(1 << 20, 1000);
	SYS(SYS_copy_file_range, in.fd, NULL, in.fd, NULL, 100, 0);
	row_end_of("COPY_FILE_RANGE", &in);
	row_number("size", 100);
}

const struct trigger copy_triggers[] = {
	{ .name = "sendfile", .operations = "SENDFILE", .run = run_sendfile },
	{ .name = "splice", .operations = "SPLICE", .run = run_splice },
	{ .name = "vmsplice", .operations = "VMSPLICE", .run = run_vmsplice },
	{ .name = "copy_file_range", .operations = "COPY_FILE_RANGE", .run = run_copy_file_range },
	{ 0 },
};

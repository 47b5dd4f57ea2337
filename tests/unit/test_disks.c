// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells/disks.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"

static char folder[] = "/tmp/test_disks.XXXXXX";

static void write_uevent(const char *device, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, device);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/%s/uevent", folder, device);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

static void remove_folder(void)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(reads_and_keeps_names)
{
	static struct disks disks;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	disks_init(&disks, folder);
	ck_assert_str_eq(disks_name(&disks, 0), "");
	ck_assert_str_eq(disks_name(&disks, 8 << 20 | 16), "");
	write_uevent("8:16", "MAJOR=8\nMINOR=16\nDEVNAME=sdb\nDEVTYPE=disk\n");
	write_uevent("259:0", "MAJOR=259\nMINOR=0\nDEVNAME=nvme0n1\n");
	ck_assert_str_eq(disks_name(&disks, 8 << 20 | 16), "sdb");
	ck_assert_str_eq(disks_name(&disks, 259 << 20), "nvme0n1");
	remove_folder();
	ck_assert_str_eq(disks_name(&disks, 8 << 20 | 16), "sdb");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, reads_and_keeps_names);
}

int main(void)
{
	return run_suite("disks", add);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench_rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEVICE	   (254U << 20 | 1)
#define FIRST_FILE 10 /* id of its name */
#define SOME_TIME  1234567890123456ULL

static void name(void (*take)(void *, const struct iotr_name_record *, uint32_t), void *userdata,
		 uint64_t id, uint64_t parent, const char *text)
{
	_Alignas(struct iotr_name_record) char space[sizeof(struct iotr_name_record) + 64] = { 0 };
	struct iotr_name_record *record = (void *)space;
	size_t length = strlen(text);

	*record = (struct iotr_name_record){
		.id = id, .parent = parent, .inode = id, .device = DEVICE,
		.length = (uint16_t)length, .fs_type = "ext4",
	};
	memcpy(record->text, text, length);
	take(userdata, record, (uint32_t)(sizeof(*record) + length));
}

void rows_names(void (*take)(void *userdata, const struct iotr_name_record *record, uint32_t size),
		void *userdata)
{
	char text[64];

	name(take, userdata, 1, 0, "/");
	name(take, userdata, 2, 1, "var");
	name(take, userdata, 3, 2, "lib");
	name(take, userdata, 4, 3, "database");
	for (unsigned int file = 0; file < ROWS_FILES; file++) {
		snprintf(text, sizeof(text), file % 100 ? "segment-%06u.dat" : "segment, \"%u\".dat", file);
		name(take, userdata, FIRST_FILE + file, 4, text);
	}
}

/* splitmix64: good digits for the numbers of a row. */
static uint64_t noise(uint64_t number)
{
	number = (number + 1) * 0x9e3779b97f4a7c15ULL;
	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9ULL;
	number = (number ^ number >> 27) * 0x94d049bb133111ebULL;
	return number ^ number >> 31;
}

static void make_head(struct iotr_record *head, uint64_t number, unsigned int thread)
{
	head->size = sizeof(struct iotr_vfs_record);
	head->stream = IOTR_VFS;
	head->cpu = thread;
	head->start_ns = SOME_TIME + number * 317;
	head->latency_ns = 700 + noise(number) % 3000 + (number % 64 ? 0 : noise(number) % 5000000);
	head->cgroup_id = 12345;
	head->pid = 4242;
	head->tid = 4242 + thread;
	head->ppid = 1;
	head->uid = 1000;
	strcpy(head->command, "database");
}

static void make_transfer(struct iotr_vfs_record *record, uint64_t random)
{
	record->head.operation = random % 3 ? IOTR_VFS_READ : IOTR_VFS_WRITE;
	record->size = random % 8 ? 4096 : 512 + random % 65536;
	record->offset = (random >> 20) % (1 << 20) * 4096;
	record->result = (int64_t)record->size;
	record->counts_bytes = 1;
	record->flag_kind = IOTR_FLAGS_FILE;
	record->has_fd = 1;
}

static void make_other(struct iotr_vfs_record *record, uint64_t random)
{
	static const uint8_t operations[] = { IOTR_VFS_OPEN, IOTR_VFS_CLOSE, IOTR_VFS_GETATTR,
					      IOTR_VFS_MMAP, IOTR_VFS_RENAME };

	record->head.operation = operations[random % sizeof(operations)];
	record->size = record->offset = IOTR_UNKNOWN;
	record->result = random % 7 ? 0 : -ENOENT;
	switch (record->head.operation) {
	case IOTR_VFS_OPEN:
		record->flag_kind = IOTR_FLAGS_OPEN;
		record->flags = random % 2 ? 02000102 : 0;
		record->result = record->result ?: record->fd;
		break;
	case IOTR_VFS_MMAP:
		record->has_mapping = 1;
		record->protection = 3;
		record->mapping = 2;
		record->address = 0x7f0000000000ULL + (random >> 12 & 0xffffff) * 4096;
		break;
	case IOTR_VFS_RENAME:
		record->name2 = FIRST_FILE + random % ROWS_FILES;
		break;
	default:
		break;
	}
}

void rows_make(struct iotr_vfs_record *record, uint64_t number, uint64_t sessions)
{
	uint64_t random = noise(number);
	unsigned int thread = (unsigned int)(number / 16 % 16), file = (unsigned int)(random % 4);

	*record = (struct iotr_vfs_record){ .address = IOTR_UNKNOWN };
	make_head(&record->head, number, thread);
	record->head.sessions = sessions;
	record->fd = 3 + (int)(4 * thread + file);
	record->file.name = FIRST_FILE + (thread * 61 + file) % ROWS_FILES;
	record->file.inode = 1000000 + record->file.name;
	record->file.device = DEVICE;
	record->file.flags = file % 2 ? 0102002 : 0100000;
	if (number % 8)
		make_transfer(record, random >> 2);
	else
		make_other(record, random >> 2);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows that many sessions want, whose lines are made once: each session's files are those that it has when it is the
 * only one, whatever the others are.
 */
#include "writer_rig.h"

#include "anonymize.h"
#include "lines.h"
#include "schema.h"

enum {
	SESSIONS = 7,
	LINED = 5, /* the first of them: CSV in the clear */
	ALONE = 32, /* its twin, which nobody shares a row with, has this slot and the following ones */
	ROWS = OFTEN(20000),
};

static const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE] = { 7 };
static struct writer *writers[2 * SESSIONS];
static char long_name[IOTR_NAME_TEXT_MAX - 1];
static unsigned int lines; /* made by the consumer thread */

size_t __real_lines_write(struct lines *maker, const struct row *row, char *out);
size_t __wrap_lines_write(struct lines *maker, const struct row *row, char *out);
size_t __wrap_lines_write(struct lines *maker, const struct row *row, char *out)
{
	lines++;
	return __real_lines_write(maker, row, out);
}

static unsigned int slot_of(unsigned int number)
{
	return number < SESSIONS ? number : ALONE + number - SESSIONS;
}

static void start(unsigned int number, size_t queue_size)
{
	unsigned int kind = number % SESSIONS;
	char path[PATH_MAX + 16], message[512];
	struct writer_config config = {
		.session = "test", .level = "function", .streams = BOTH, .output = path, .queue_size = queue_size,
		.format = kind == LINED ? IOTR_FORMAT_JSONL : IOTR_FORMAT_CSV,
		.anonymize_key = kind == LINED + 1 ? key : NULL,
		.rotate_size = kind == 1 ? 300000 : 0,
	};

	snprintf(path, sizeof(path), "%s/%u", folder.path, number);
	config.output_fd = output_create(path, NULL, message, sizeof(message));
	ck_assert_int_ge(config.output_fd, 0);
	ck_assert_int_eq(writer_new(&config, &writers[number]), 0);
	close(config.output_fd);
	ck_assert_int_eq(router_attach(router, slot_of(number), writers[number]), 0);
}

static void add_name(uint64_t id, const char *name, size_t length)
{
	static _Alignas(8) char space[sizeof(struct iotr_name_record) + IOTR_NAME_TEXT_MAX];
	struct iotr_name_record *record = (void *)space;

	*record = (struct iotr_name_record){ .id = id, .inode = id, .device = 1, .length = (uint16_t)length,
					     .fs_type = "ext4" };
	memcpy(record->text, name, length);
	ck_assert_int_eq(names_add(names, record, sizeof(*record) + length), 0);
}

static void begin_sessions(unsigned int count, size_t queue_size)
{
	struct names_config names_config = { 0 };
	struct router_config router_config = { 0 };

	folder_begin(&folder);
	ck_assert_int_eq(names_new(&names_config, &names), 0);
	router_config.names = names;
	ck_assert_int_eq(router_new(&router_config, &router), 0);
	memset(long_name, ',', sizeof(long_name));
	add_name(1, "/some/file", 10);
	add_name(2, "/a, \"b\"", 7);
	add_name(3, long_name, sizeof(long_name));
	lines = 0;
	for (unsigned int number = 0; number < count; number++)
		start(number, queue_size);
}

static void end_sessions(unsigned int count)
{
	for (unsigned int number = 0; number < count; number++)
		writer_free(writers[number]);
	router_free(router);
	names_free(names);
	folder_end(&folder);
}

/* To the sessions of the mask together, and then to the twin of each by itself. */
static void send_to_all(struct iotr_record *record, uint64_t mask)
{
	record->sessions = mask;
	send(record, record->size);
	for (uint64_t left = mask; left; left &= left - 1) {
		record->sessions = (left & -left) << ALONE;
		send(record, record->size);
	}
}

static void send_number(uint64_t number, uint64_t mask)
{
	struct iotr_vfs_record vfs = vfs_record(1000000000 + number * 1000);
	struct iotr_block_record block = {
		.head = { .size = sizeof(block), .stream = IOTR_BLOCK, .start_ns = 5 + number, .command = "test" },
		.sector = number, .inode = 1, .inode_device = 1, .name = number % 4,
	};

	vfs.head.tid = (uint32_t)number % 77;
	vfs.head.operation = (uint8_t)(number % 5 ? IOTR_VFS_READ : IOTR_VFS_RENAME);
	vfs.head.unread = number % 13 == 0;
	vfs.file.name = number % 5 ? number % 4 : 3;
	vfs.name2 = number % 5 ? 0 : 3;
	vfs.fd = (int32_t)(number % 50);
	vfs.has_fd = 1;
	send_to_all(number % 3 ? &vfs.head : &block.head, mask);
}

/* Most rows are for all; of some there are too few sessions to share them. */
static uint64_t mask_of(uint64_t number)
{
	uint64_t mask = (1 << SESSIONS) - 1;

	return number % 10 < 7 ? mask : mask & number / 3;
}

static void stop(unsigned int number, struct writer_paths *paths)
{
	struct writer_counts counts;

	router_detach(router, slot_of(number));
	ck_assert_int_eq(writer_stop(writers[number], "stopped", paths), 0);
	for (int stream = IOTR_VFS; stream <= IOTR_BLOCK; stream++) {
		writer_counts(writers[number], (enum iotr_stream)stream, &counts);
		ck_assert_uint_eq(counts.received, counts.written + counts.lost_queue);
		ck_assert_int_eq(counts.error, 0);
	}
}

static unsigned int compare_file(unsigned int number, const char *name)
{
	char path[256], twin[256], *text, *expected;
	size_t size, expected_size;

	snprintf(path, sizeof(path), "%u/%s", number, name);
	snprintf(twin, sizeof(twin), "%u/%s", number + SESSIONS, name);
	ck_assert_int_eq(folder_has(&folder, path), folder_has(&folder, twin));
	if (!folder_has(&folder, path))
		return 0;
	text = folder_read(&folder, path, &size);
	expected = folder_read(&folder, twin, &expected_size);
	ck_assert_uint_gt(size, 1000);
	ck_assert_uint_eq(size, expected_size);
	ck_assert(!memcmp(text, expected, size));
	free(text);
	free(expected);
	return 1;
}

static void compare(unsigned int number)
{
	struct writer_counts counts, twin;
	unsigned int files = 0;

	for (int stream = IOTR_VFS; stream <= IOTR_BLOCK; stream++) {
		writer_counts(writers[number], (enum iotr_stream)stream, &counts);
		writer_counts(writers[number + SESSIONS], (enum iotr_stream)stream, &twin);
		ck_assert_uint_gt(counts.written, ROWS / 6);
		ck_assert_uint_eq(counts.written, twin.written);
		ck_assert_uint_eq(counts.bytes, twin.bytes);
		ck_assert_uint_eq(counts.lost_names, twin.lost_names);
		ck_assert_uint_eq(counts.lost_queue, 0);
	}
	for (int segment = 1; segment < 30; segment++) {
		char name[64];

		for (int stream = IOTR_VFS; stream <= IOTR_BLOCK; stream++) {
			const char *of = iotr_schemas[stream].folder;

			snprintf(name, sizeof(name), "%s/%s_%06d.%s", of, of, segment, number == LINED ? "jsonl" : "csv");
			files += compare_file(number, name);
		}
	}
	ck_assert_uint_ge(files, number == 1 ? 10 : 2);
}

static void wait_for_room(void)
{
	for (unsigned int number = 0; number < 2 * SESSIONS; number++)
		while (!writer_queue_has_room(writers[number])) {
			writer_queue_wake(writers[number]);
			usleep(1000);
		}
}

START_TEST(writes_as_if_alone)
{
	struct writer_paths paths = { 0 };

	begin_sessions(2 * SESSIONS, 0);
	for (uint64_t number = 0; number < ROWS; number++) {
		if (number % 500 == 0)
			router_begin(router);
		wait_for_room();
		send_number(number, mask_of(number));
		if (number % 500 == 499)
			router_end(router);
	}
	ck_assert_uint_gt(lines, ROWS / 3);
	ck_assert_uint_lt(lines, ROWS * 6 / 10); /* names that are too long are copied */
	for (unsigned int number = 0; number < 2 * SESSIONS; number++) {
		stop(number, &paths);
		writer_paths_done(&paths);
	}
	for (unsigned int number = 0; number < SESSIONS; number++)
		compare(number);
	end_sessions(2 * SESSIONS);
}
END_TEST

/* With queues that are too small, rows are lost and counted; those that are there are whole. */
START_TEST(loses_no_part_of_a_row)
{
	struct writer_paths paths = { 0 };
	uint64_t lost = 0;

	begin_sessions(LINED, 1);
	for (uint64_t number = 0; number < 10 * ROWS; number++) {
		struct iotr_vfs_record record = vfs_record(1000000000 + number);

		if (number % OFTEN(50000) == 0)
			router_begin(router);
		record.head.sessions = (1 << LINED) - 1;
		send(&record, sizeof(record));
		if (number % OFTEN(50000) == OFTEN(50000) - 1)
			router_end(router);
	}
	for (unsigned int number = 0; number < LINED; number++) {
		struct writer_counts counts;
		char *text, *line, *rest, *from;
		uint64_t last = 0, count = 0;

		stop(number, &paths);
		writer_counts(writers[number], IOTR_VFS, &counts);
		lost += counts.lost_queue;
		from = rest = text = folder_read(&folder, paths.paths[IOTR_VFS] + strlen(folder.path) + 1, NULL);
		strsep(&rest, "\n");
		while (number != 1 && (line = strsep(&rest, "\n")) && *line) {
			uint64_t mono = strtoull(strrchr(line, ',') + 1, NULL, 10);

			ck_assert_uint_gt(mono, last);
			last = mono;
			count++;
		}
		if (number != 1)
			ck_assert_uint_eq(count, counts.written);
		free(from);
		writer_paths_done(&paths);
	}
	ck_assert_uint_gt(lost, 0);
	end_sessions(LINED);
}
END_TEST

/* A session that ends while rows of others are still to come, and one whose rows wait. */
START_TEST(ends_one_by_one)
{
	struct writer_paths paths = { 0 };

	begin_sessions(LINED, 0);
	for (unsigned int number = 0; number < LINED; number++) {
		router_begin(router);
		for (uint64_t row = 0; row < 5000; row++) {
			struct iotr_vfs_record record = vfs_record(1000000000 + row);

			record.head.sessions = (1 << LINED) - 1;
			send(&record, sizeof(record));
		}
		router_end(router);
		stop(number, &paths);
		writer_paths_done(&paths);
	}
	for (unsigned int number = 0; number < LINED; number++) {
		struct writer_counts counts;

		writer_counts(writers[number], IOTR_VFS, &counts);
		ck_assert_uint_eq(counts.written, 5000 * (number + 1));
	}
	ck_assert_uint_eq(lines, 5000 * 2);
	end_sessions(LINED);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, writes_as_if_alone);
	tcase_add_test(tests, loses_no_part_of_a_row);
	tcase_add_test(tests, ends_one_by_one);
}

int main(void)
{
	return run_suite("sharing", add);
}

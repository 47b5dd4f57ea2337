// SPDX-License-Identifier: GPL-2.0-or-later
#include "recorder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue.h"
#include "suite.h"

enum {
	SIZE = 4 * RECORDER_CHUNK,
	ROWS = 400000,
};

static struct recorder *recorder;
static char text[QUEUE_ENTRY_MAX];

static void begin(void)
{
	ck_assert_int_eq(recorder_new(SIZE, 1 << IOTR_VFS | 1 << IOTR_BLOCK, &recorder), 0);
	memset(text, 'x', sizeof(text));
}

static void end(void)
{
	recorder_free(recorder);
}

/* Rows of two streams and of different lengths, numbered by their start time. */
static void put(uint64_t number)
{
	struct iotr_vfs_record vfs = { .head = { .size = sizeof(vfs), .stream = IOTR_VFS } };
	struct iotr_block_record block = { .head = { .size = sizeof(block), .stream = IOTR_BLOCK },
					   .queue_latency_ns = IOTR_UNKNOWN };
	struct iotr_record *record = number % 3 ? &vfs.head : &block.head;
	struct row row = { .record = record, .fs_type = "ext4",
			   .path = { text, (uint32_t)(number * 7 % 300) }, .name_lost = number % 5 == 2 };

	record->start_ns = number;
	recorder_row(recorder, &row);
}

static void put_many(uint64_t from, uint64_t to)
{
	for (uint64_t number = from; number < to; number++)
		put(number);
}

static struct recorder_counts counts_of(enum iotr_stream stream)
{
	struct recorder_counts counts;

	recorder_counts(recorder, stream, &counts);
	ck_assert_uint_eq(counts.received, counts.kept + counts.overwritten + counts.lost);
	return counts;
}

static struct recorder_memory memory_now(void)
{
	struct recorder_memory memory;

	recorder_memory(recorder, &memory);
	return memory;
}

static struct recorder_view *view_since(uint64_t since_ns)
{
	struct recorder_view *view;

	ck_assert_int_eq(recorder_view_new(recorder, since_ns, &view), 0);
	return view;
}

/* Reads a view to its end, whose rows have to be whole and follow each other; returns how many. */
static uint64_t read_view(struct recorder_view *view, uint64_t *first)
{
	uint64_t rows = 0, number;
	struct row row;

	while (recorder_view_next(view, &row)) {
		number = row.record->start_ns;
		if (!rows++)
			*first = number;
		ck_assert_uint_eq(number, *first + rows - 1);
		ck_assert_uint_eq(row.path.length, number * 7 % 300);
		ck_assert_int_eq(row.name_lost, number % 5 == 2);
		ck_assert(!row.path.length || !memcmp(row.path.text, text, row.path.length));
	}
	recorder_view_free(view);
	return rows;
}

START_TEST(keeps_all_that_fits)
{
	uint64_t first;

	begin();
	put_many(1000, 2000);
	ck_assert_uint_eq(read_view(view_since(0), &first), 1000);
	ck_assert_uint_eq(first, 1000);
	ck_assert_uint_eq(counts_of(IOTR_VFS).kept + counts_of(IOTR_BLOCK).kept, 1000);
	ck_assert(!memory_now().overwritten);
	ck_assert_uint_eq(memory_now().size, SIZE);
	end();
}
END_TEST

START_TEST(overwrites_the_oldest)
{
	uint64_t first, kept;

	begin();
	put_many(0, 50000);
	kept = counts_of(IOTR_VFS).kept + counts_of(IOTR_BLOCK).kept;
	ck_assert_uint_gt(counts_of(IOTR_VFS).overwritten, 0);
	ck_assert_uint_gt(counts_of(IOTR_BLOCK).overwritten, 0);
	ck_assert_uint_eq(read_view(view_since(0), &first), kept);
	ck_assert_uint_eq(first, 50000 - kept);
	ck_assert(memory_now().overwritten);
	ck_assert_uint_le(memory_now().used, SIZE);
	ck_assert_uint_gt(memory_now().used, SIZE - RECORDER_CHUNK - QUEUE_ENTRY_MAX);
	end();
}
END_TEST

/* The end of an operation decides, not its start. */
START_TEST(looks_back)
{
	struct iotr_vfs_record slow = { .head = { .size = sizeof(slow), .stream = IOTR_VFS,
						  .start_ns = 1, .latency_ns = 5000 } };
	struct iotr_block_record queued = { .head = { .size = sizeof(queued), .stream = IOTR_BLOCK,
						      .start_ns = 2, .latency_ns = 3000 },
					    .queue_latency_ns = 2000 };
	struct recorder_view *view;
	uint64_t first;
	struct row row = { .record = &slow.head, .fs_type = "" };

	begin();
	put_many(1000, 2000);
	ck_assert_uint_eq(read_view(view_since(1500), &first), 500);
	ck_assert_uint_eq(first, 1500);
	recorder_row(recorder, &row);
	row.record = &queued.head;
	recorder_row(recorder, &row);
	view = view_since(5001);
	ck_assert(recorder_view_next(view, &row));
	ck_assert_uint_eq(row.record->start_ns, 1);
	ck_assert(recorder_view_next(view, &row));
	ck_assert_uint_eq(row.record->start_ns, 2);
	ck_assert(!recorder_view_next(view, &row));
	recorder_view_free(view);
	ck_assert_uint_eq(read_view(view_since(5003), &first), 0);
	end();
}
END_TEST

/* Rows that a view shows are neither overwritten nor freed. */
START_TEST(views_hold)
{
	struct recorder_view *view, *unread;
	uint64_t first, kept;

	begin();
	put_many(0, 50000);
	kept = counts_of(IOTR_VFS).kept + counts_of(IOTR_BLOCK).kept;
	view = view_since(0);
	unread = view_since(0);
	put_many(50000, 100000);
	end();
	ck_assert_uint_eq(read_view(view, &first), kept);
	ck_assert_uint_eq(first, 50000 - kept);
	recorder_view_free(unread);
}
END_TEST

START_TEST(refuses_rows)
{
	struct iotr_vfs_record vfs = { .head = { .size = sizeof(vfs), .stream = IOTR_VFS } };
	struct iotr_net_record net = { .head = { .size = sizeof(net), .stream = IOTR_NET } };
	struct row large = { .record = &vfs.head, .fs_type = "", .path = { text, sizeof(text) } };
	struct row other = { .record = &net.head, .fs_type = "" };
	uint64_t first;

	begin();
	recorder_row(recorder, &other);
	ck_assert_uint_eq(counts_of(IOTR_NET).received, 0);
	for (int i = 0; i < 10; i++)
		recorder_row(recorder, &large);
	ck_assert_uint_eq(counts_of(IOTR_VFS).lost, 10);
	put_many(0, 10);
	ck_assert_uint_eq(read_view(view_since(0), &first), 10);
	end();
}
END_TEST

/* Resident pages of the process. */
static uint64_t resident(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long total, pages;

	ck_assert_int_eq(fscanf(file, "%lu %lu", &total, &pages), 2);
	fclose(file);
	return pages * 4096;
}

START_TEST(is_bounded)
{
	const uint64_t size = 32 * RECORDER_CHUNK, slack = size / 4; /* sanitizers need memory of their own */
	struct recorder_view *view;
	uint64_t before = resident();
	struct row row;

	ck_assert_int_eq(recorder_new(size, 1 << IOTR_VFS | 1 << IOTR_BLOCK, &recorder), 0);
	memset(text, 'x', sizeof(text));
	put_many(0, 200000);
	ck_assert_uint_ge(resident(), before + size - slack);
	ck_assert_uint_le(resident(), before + size + slack);
	view = view_since(0);
	put_many(200000, 400000);
	ck_assert_uint_le(resident(), before + 2 * size + slack);
	while (recorder_view_next(view, &row))
		; /* frees the memory that the view held */
	put_many(400000, 600000);
	ck_assert_uint_le(resident(), before + size + slack);
	recorder_view_free(view);
	end();
}
END_TEST

static _Atomic uint64_t done;

static void *produce(void *unused)
{
	for (uint64_t number = 0; number < ROWS; number++) {
		put(number);
		atomic_store(&done, number + 1);
	}
	return unused;
}

/* Views that are read while rows come: they have all rows from before, none missing and none twice. */
START_TEST(views_meanwhile)
{
	pthread_t thread;
	uint64_t first, rows, before, views = 0;

	begin();
	atomic_store(&done, 0);
	pthread_create(&thread, NULL, produce, NULL);
	do {
		struct recorder_view *view;

		before = atomic_load(&done);
		view = view_since(0);
		first = 0;
		rows = read_view(view, &first);
		ck_assert_uint_ge(first + rows, before);
		views++;
	} while (before < ROWS);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(first + rows, ROWS);
	ck_assert_uint_gt(views, 1);
	ck_assert_uint_eq(counts_of(IOTR_VFS).received + counts_of(IOTR_BLOCK).received, ROWS);
	end();
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, keeps_all_that_fits);
	tcase_add_test(tests, overwrites_the_oldest);
	tcase_add_test(tests, looks_back);
	tcase_add_test(tests, views_hold);
	tcase_add_test(tests, refuses_rows);
	tcase_add_test(tests, is_bounded);
	tcase_add_test(tests, views_meanwhile);
}

int main(void)
{
	return run_suite("recorder", add);
}

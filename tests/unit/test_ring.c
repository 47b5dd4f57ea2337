// SPDX-License-Identifier: GPL-2.0-or-later
/* The reading end on a ring in memory that lies out as the kernel's does, its data shown twice in a row. */
#include "pipeline/ring.h"

#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "suite.h"

enum {
	SIZE = 64 * 1024,
	UNTOLD = SIZE / RING_UNTOLD_SHARE,
	HEADER = BPF_RINGBUF_HDR_SZ,
	RECORDS = 100000,
};

static int file;
static size_t page;
static unsigned char *memory;
static unsigned long *consumed, *produced;
static struct ring ring;
static uint64_t added, read_count; /* records */

int __wrap_bpf_obj_get_info_by_fd(int fd, void *info, uint32_t *length);
int __wrap_bpf_obj_get_info_by_fd(int fd, void *info, uint32_t *length)
{
	ck_assert_int_eq(fd, file);
	ck_assert_uint_ge(*length, sizeof(struct bpf_map_info));
	((struct bpf_map_info *)info)->max_entries = SIZE;
	return 0;
}

static void begin(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	file = memfd_create("ring", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(file, (off_t)(2 * page + 2 * SIZE)), 0);
	memory = mmap(NULL, 2 * page + 2 * SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	consumed = (unsigned long *)memory;
	produced = (unsigned long *)(memory + page);
	/* Positions that soon pass the ends of the ring and of 32 bits. */
	*consumed = *produced = (1UL << 32) - SIZE / 2;
	added = read_count = 0;
	ck_assert_int_eq(ring_open(&ring, file), 0);
}

static void end(void)
{
	ring_close(&ring);
	munmap(memory, 2 * page + 2 * SIZE);
	close(file);
}

/* Puts a byte where the kernel's mapping shows it: once in each of the two copies. */
static void put(unsigned long position, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		size_t at = (position + i) % SIZE;

		memory[2 * page + at] = memory[2 * page + SIZE + at] = ((const unsigned char *)bytes)[i];
	}
}

static uint32_t size_of(uint64_t number)
{
	return 8 + (uint32_t)(number * 2654435761U >> 7) % 300;
}

static void set_header(unsigned long position, uint32_t header)
{
	put(position, &header, sizeof(header));
}

/* False: there is no room. As the kernel's reserve: it fills no more than the ring. */
static bool add(uint32_t flags)
{
	uint32_t size = size_of(added);
	unsigned long position = *produced, span = (size + HEADER + 7UL) & ~7UL;

	if (position + span - __atomic_load_n(consumed, __ATOMIC_ACQUIRE) > SIZE - 1)
		return false;
	put(position + HEADER, &added, sizeof(added));
	set_header(position, size | flags);
	__atomic_store_n(produced, position + span, __ATOMIC_RELEASE);
	added++;
	return true;
}

/* Each record is the next one; and the kernel knows of all but a little of what was read. */
static int take(void *userdata, const void *record, size_t size)
{
	uint64_t number;

	(void)userdata;
	memcpy(&number, record, sizeof(number));
	ck_assert_uint_eq(number, read_count);
	ck_assert_uint_eq(size, size_of(read_count));
	ck_assert_uint_le(ring.position - *consumed, UNTOLD);
	read_count++;
	return 0;
}

static bool read_all(void)
{
	size_t count = 0;
	uint64_t before = read_count;
	bool complete = ring_read(&ring, take, NULL, &count);

	ck_assert_uint_eq(count, read_count - before);
	return complete;
}

START_TEST(test_round_and_round)
{
	for (int lap = 0; lap < 50; lap++) {
		while (add(0))
			;
		ck_assert(read_all());
		ck_assert_uint_eq(read_count, added);
		ck_assert_uint_eq(*consumed, *produced);
	}
	ck_assert_uint_gt(*consumed, 1UL << 32);
}
END_TEST

static unsigned long told; /* how often the kernel learned of the position */

static int watch(void *userdata, const void *record, size_t size)
{
	static unsigned long last;

	told += *consumed != last;
	last = *consumed;
	return take(userdata, record, size);
}

START_TEST(test_told_seldom)
{
	size_t count = 0;

	while (add(0))
		;
	told = 0;
	ck_assert(ring_read(&ring, watch, NULL, &count));
	ck_assert_uint_gt(count, 300);
	ck_assert_uint_gt(told, RING_UNTOLD_SHARE / 3); /* before the end, too */
	ck_assert_uint_le(told, RING_UNTOLD_SHARE + 1);
}
END_TEST

/* A record that is being written stops the reader, and what was read before is given back. */
START_TEST(test_busy)
{
	unsigned long busy;

	ck_assert(add(0) && add(0));
	busy = *produced;
	ck_assert(add(BPF_RINGBUF_BUSY_BIT) && add(0));
	ck_assert(!read_all());
	ck_assert_uint_eq(read_count, 2);
	ck_assert_uint_eq(*consumed, busy);
	ck_assert(!read_all());
	ck_assert_uint_eq(*consumed, busy);
	set_header(busy, size_of(2));
	ck_assert(read_all());
	ck_assert_uint_eq(read_count, 4);
	ck_assert_uint_eq(*consumed, *produced);
}
END_TEST

START_TEST(test_discarded)
{
	ck_assert(add(0));
	ck_assert(add(BPF_RINGBUF_DISCARD_BIT));
	added--; /* the next one has its number */
	ck_assert(read_all());
	ck_assert_uint_eq(read_count, 1);
	ck_assert_uint_eq(*consumed, *produced);
}
END_TEST

/* A handler that is about to wait gives back all records before its own. */
static int publish(void *userdata, const void *record, size_t size)
{
	unsigned long before = ring.position;

	take(userdata, record, size);
	ring_publish(&ring);
	ck_assert_uint_eq(*consumed, before);
	return 0;
}

START_TEST(test_publish)
{
	size_t count = 0;

	ck_assert(add(0) && add(0) && add(0));
	ck_assert(ring_read(&ring, publish, NULL, &count));
	ck_assert_uint_eq(count, 3);
}
END_TEST

/* Goes on where an earlier reader of the same ring ended. */
START_TEST(test_opened_again)
{
	ck_assert(add(0) && add(0));
	ck_assert(read_all());
	ring_close(&ring);
	ck_assert(add(0));
	ck_assert_int_eq(ring_open(&ring, file), 0);
	ck_assert(read_all());
	ck_assert_uint_eq(read_count, 3);
}
END_TEST

static void *produce(void *nothing)
{
	while (added < RECORDS)
		if (!add(0))
			sched_yield();
	return nothing;
}

/* A writer that fills the ring again and again, and a reader beside it. */
START_TEST(test_full_beside)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, produce, NULL), 0);
	while (read_count < RECORDS)
		ck_assert(read_all());
	pthread_join(thread, NULL);
	ck_assert_uint_eq(*consumed, *produced);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, test_round_and_round);
	tcase_add_test(tests, test_told_seldom);
	tcase_add_test(tests, test_busy);
	tcase_add_test(tests, test_discarded);
	tcase_add_test(tests, test_publish);
	tcase_add_test(tests, test_opened_again);
	tcase_add_test(tests, test_full_beside);
}

int main(void)
{
	return run_suite("ring", add_tests);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "queue.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "suite.h"

enum {
	SIZE = 4 * QUEUE_ENTRY_MAX,
	ROWS = OFTEN(300000),
};

static struct queue *queue;
static char text[1024];

static void begin_of(size_t size)
{
	queue = aligned_alloc(64, sizeof(*queue));
	ck_assert_int_eq(queue_init(queue, size, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), 0);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 23);
}

static void begin(void)
{
	begin_of(SIZE);
}

static void end(void)
{
	close(queue->eventfd);
	queue_done(queue);
	free(queue);
}

/* Entries of different lengths, so that they end at every position of a chunk. */
static uint32_t length_of(uint64_t number)
{
	return (uint32_t)(number * 2654435761U >> 7) % 700;
}

static bool push(uint64_t number)
{
	struct iotr_vfs_record vfs = { .head = { .size = sizeof(vfs), .start_ns = number } };
	struct iotr_block_record block = {
		.head = { .size = sizeof(block), .stream = IOTR_BLOCK, .start_ns = number },
	};
	struct row row = {
		.record = number % 3 ? &vfs.head : &block.head,
		.path = { text, length_of(number) },
		.path2 = { text + 1, number % 5 ? 0 : length_of(number + 1) },
		.fs_type = text,
		.name_lost = number % 7 == 3,
	};

	return queue_push(queue, &row);
}

static void check(const struct row *row, uint64_t number)
{
	ck_assert_uint_eq(row->record->start_ns, number);
	ck_assert_uint_eq(row->record->stream, number % 3 ? IOTR_VFS : IOTR_BLOCK);
	ck_assert_uint_eq(row->path.length, length_of(number));
	ck_assert_mem_eq(row->path.text, text, row->path.length);
	ck_assert_uint_eq(row->path2.length, number % 5 ? 0 : length_of(number + 1));
	ck_assert_mem_eq(row->path2.text, text + 1, row->path2.length);
	ck_assert_ptr_eq(row->fs_type, text);
	ck_assert_int_eq(row->name_lost, number % 7 == 3);
}

START_TEST(keeps_rows_in_order)
{
	struct row row;

	begin();
	ck_assert(!queue_front(queue, &row));
	for (uint64_t number = 0; number < 100; number++)
		ck_assert(push(number));
	for (uint64_t number = 0; number < 100; number++) {
		ck_assert(queue_front(queue, &row));
		check(&row, number);
		queue_pop(queue);
	}
	ck_assert(!queue_front(queue, &row));
	end();
}
END_TEST

START_TEST(goes_round)
{
	uint64_t pushed = 0, popped = 0;
	struct row row;

	begin();
	while (popped < 20000) {
		while (push(pushed))
			pushed++;
		for (int i = 0; i < 37 && queue_front(queue, &row); i++) {
			check(&row, popped++);
			queue_pop(queue);
		}
	}
	end();
}
END_TEST

START_TEST(refuses_when_full)
{
	uint64_t pushed = 0;
	struct row row;

	begin();
	while (push(pushed))
		pushed++;
	ck_assert_uint_gt(pushed, SIZE / 2000);
	for (uint64_t number = 0; number < pushed; number++) {
		ck_assert(queue_front(queue, &row));
		check(&row, number);
		queue_pop(queue);
	}
	ck_assert(!queue_front(queue, &row));
	ck_assert(push(0));
	end();
}
END_TEST

START_TEST(takes_the_longest_paths)
{
	struct iotr_vfs_record vfs = { .head = { .size = sizeof(vfs) } };
	static char path[QUEUE_ENTRY_MAX];
	struct row row = { .record = &vfs.head, .path = { path, 40000 },
			   .path2 = { path, 40000 }, .fs_type = "" };

	begin();
	ck_assert(queue_push(queue, &row));
	row.path2.length = QUEUE_ENTRY_MAX;
	ck_assert(!queue_push(queue, &row));
	end();
}
END_TEST

static bool is_woken(void)
{
	struct pollfd pollfd = { .fd = queue->eventfd, .events = POLLIN };
	eventfd_t value;

	if (poll(&pollfd, 1, 0) != 1)
		return false;
	eventfd_read(queue->eventfd, &value);
	return true;
}

START_TEST(wakes_once_a_drain)
{
	struct row row;

	begin();
	ck_assert(queue_idle(queue));
	queue_wake(queue);
	ck_assert(!is_woken());
	for (uint64_t number = 0; number < 10; number++)
		push(number);
	ck_assert(!is_woken());
	queue_wake(queue);
	ck_assert(is_woken());
	queue_wake(queue);
	ck_assert(!is_woken());
	ck_assert(!queue_idle(queue));
	for (uint64_t number = 0; number < 10; number++) {
		ck_assert(queue_front(queue, &row));
		check(&row, number);
		queue_pop(queue);
	}
	push(10);
	queue_wake(queue);
	ck_assert(!is_woken());
	ck_assert(!queue_idle(queue));
	end();
}
END_TEST

/* Pushes and pops so many rows, one by one. */
static void pass(uint64_t rows)
{
	struct row row;

	for (uint64_t number = 0; number < rows; number++) {
		ck_assert(queue_idle(queue));
		ck_assert(push(number));
		queue_wake(queue);
		ck_assert(queue_front(queue, &row));
		check(&row, number);
		queue_pop(queue);
	}
}

START_TEST(touches_little_when_kept_empty)
{
	begin();
	pass(20000);
	ck_assert_uint_le(queue->chunks, 2);
	end();
}
END_TEST

static uint64_t fill(struct queue *one)
{
	uint64_t pushed = 0;

	for (queue = one; push(pushed);)
		pushed++;
	return pushed;
}

static void drain(uint64_t rows)
{
	struct row row;

	for (uint64_t number = 0; number < rows; number++) {
		ck_assert(queue_front(queue, &row));
		check(&row, number);
		queue_pop(queue);
	}
}

START_TEST(gives_back_what_a_burst_took)
{
	begin_of(QUEUE_SIZE);
	drain(fill(queue));
	ck_assert_uint_eq(queue->chunks, QUEUE_SIZE / QUEUE_CHUNK);
	pass(1);
	ck_assert_uint_lt(queue->chunks, 24);
	ck_assert(queue_has_room(queue));
	end();
}
END_TEST

/* What some queues take beyond what is theirs others cannot have, but never less than what is. */
START_TEST(shares_what_is_beyond)
{
	enum { HUNGRY = QUEUES_MORE / (QUEUE_SIZE - QUEUE_SURE) + 2 }; /* one that gets all, one that gets no more */
	struct queue *all[HUNGRY];
	unsigned int chunks = 0;

	for (int i = 0; i < HUNGRY; i++) {
		begin_of(QUEUE_SIZE);
		all[i] = queue;
	}
	for (int i = 0; i < HUNGRY; i++) {
		fill(all[i]);
		ck_assert(!queue_has_room(all[i]));
		chunks += all[i]->chunks;
	}
	ck_assert_uint_eq(all[0]->chunks, QUEUE_SIZE / QUEUE_CHUNK);
	ck_assert_uint_eq(all[HUNGRY - 1]->chunks, QUEUE_SURE / QUEUE_CHUNK);
	ck_assert_uint_eq(chunks, HUNGRY * (QUEUE_SURE / QUEUE_CHUNK) + QUEUES_MORE / QUEUE_CHUNK);
	for (int i = 0; i < HUNGRY; i++) {
		queue = all[i];
		end();
	}
	begin_of(QUEUE_SIZE);
	fill(queue);
	ck_assert_uint_eq(queue->chunks, QUEUE_SIZE / QUEUE_CHUNK);
	end();
}
END_TEST

/* A thread that drains the queue as a session's writer does: it takes all entries, then waits. */
static void *consume(void *argument)
{
	struct pollfd pollfd = { .fd = queue->eventfd, .events = POLLIN };
	uint64_t *received = argument, last = 0;
	eventfd_t value;
	struct row row;

	while (last != ROWS) {
		while (queue_front(queue, &row)) {
			ck_assert_uint_gt(row.record->start_ns, last);
			last = row.record->start_ns;
			check(&row, last);
			queue_pop(queue);
			++*received;
		}
		if (last != ROWS && queue_idle(queue)) {
			ck_assert_int_eq(poll(&pollfd, 1, 20000), 1);
			eventfd_read(queue->eventfd, &value);
		}
	}
	return NULL;
}

START_TEST(loses_nothing_between_threads)
{
	uint64_t received = 0, refused = 0;
	pthread_t thread;

	begin();
	ck_assert_int_eq(pthread_create(&thread, NULL, consume, &received), 0);
	for (uint64_t number = 1; number < ROWS; number++) {
		refused += !push(number);
		if (number % (1 + number % 97) == 0)
			queue_wake(queue);
	}
	while (!push(ROWS))
		usleep(100);
	queue_wake(queue);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(received + refused, ROWS);
	end();
}
END_TEST

/* ---- rows that several queues share ---- */

static struct shared shared;

/* Lines of different lengths. */
static size_t write_number(char *line, uint64_t number)
{
	return (size_t)sprintf(line, "%0*" PRIu64 "\n", (int)(number % 40) + 1, number);
}

/* The row of push(), as an entry in a block, with a line that tells its number. Every seventh lacks a name. */
static const struct queue_entry *share(uint64_t number)
{
	struct iotr_vfs_record vfs = { .head = { .size = sizeof(vfs), .start_ns = number } };
	struct row row = { .record = &vfs.head, .path = { text, length_of(number) }, .fs_type = text,
			   .name_lost = number % 7 == 3 };
	struct queue_entry *entry = shared_reserve(&shared);

	ck_assert_ptr_nonnull(entry);
	queue_entry_fill(entry, &row, queue_entry_size(&row));
	shared_add(&shared, entry->size, write_number(shared_line(&shared), number));
	return entry;
}

/* Pushes so many such rows at once; as many as lie in one block, and one at least. Returns how many found room. */
static uint32_t push_run(struct queue *to, uint64_t number, uint32_t rows)
{
	const struct queue_entry *first = shared_reserve(&shared);
	struct queue_run run = { .first = first, .block = shared.block, .lines = shared_line(&shared) };
	uint32_t pushed, lost = 0, names_lost;

	do
		run.bytes += share(number + run.rows++)->size;
	while (run.rows < rows && shared_goes_on(&shared));
	run.line_bytes = (uint32_t)(shared_line(&shared) - run.lines);
	for (uint32_t i = 0; i < run.rows; i++)
		run.names_lost += (number + i) % 7 == 3;
	pushed = queue_push_run(to, &run, &names_lost);
	for (uint32_t i = 0; i < pushed; i++)
		lost += (number + i) % 7 == 3;
	ck_assert_uint_eq(names_lost, lost);
	return pushed;
}

static bool push_shared(struct queue *to, uint64_t number)
{
	return push_run(to, number, 1);
}

static void check_shared(const struct row *row, uint64_t number)
{
	char line[64];

	ck_assert_uint_eq(row->record->start_ns, number);
	ck_assert_uint_eq(row->path.length, length_of(number));
	ck_assert_mem_eq(row->path.text, text, row->path.length);
	ck_assert_uint_eq(row->name_lost, number % 7 == 3);
	ck_assert_uint_eq(row->line_length, row->line ? write_number(line, number) : 0);
	if (row->line)
		ck_assert_mem_eq(row->line, line, row->line_length);
}

static bool number_is_shared(uint64_t number)
{
	return number % 11 < 8;
}

/* References, copies of what is shared, and rows of its own: all in order, and the blocks are given back. */
START_TEST(refers_to_shared_rows)
{
	uint64_t pushed = 0, popped = 0, references = 0, copies = 0;
	uint32_t more;
	struct row row;

	begin();
	while (popped < OFTEN(60000)) {
		do {
			more = number_is_shared(pushed) ? push_run(queue, pushed, 8 - pushed % 11) : push(pushed);
			pushed += more;
		} while (more);
		for (int i = 0; (i < 3000 || pushed % 7 == 0) && queue_front(queue, &row); i++) {
			if (number_is_shared(popped))
				check_shared(&row, popped);
			else
				check(&row, popped);
			references += row.line != NULL;
			copies += number_is_shared(popped) && !row.line;
			popped++;
			queue_pop(queue);
		}
	}
	ck_assert_uint_gt(references, OFTEN(10000));
	ck_assert_uint_gt(copies, OFTEN(50));
	end();
	ck_assert_uint_eq(atomic_load(&shared.block->holders), 1);
	shared_done(&shared);
}
END_TEST

/* A queue that nobody reads holds a bounded number of blocks, and gives them back at its end. */
START_TEST(holds_few_blocks)
{
	struct shared_block *first;
	uint64_t number = 0;

	begin();
	ck_assert(push_shared(queue, number++));
	first = shared.block;
	ck_assert_uint_eq(atomic_load(&first->holders), 2);
	while (push_shared(queue, number))
		number++;
	ck_assert_uint_eq(queue->blocks_held, 2 * SIZE / SHARED_BLOCK);
	ck_assert_uint_eq(atomic_load(&first->holders), 1);
	shared_hold(first);
	end();
	ck_assert_uint_eq(atomic_load(&first->holders), 1);
	shared_release(first);
	shared_done(&shared);
}
END_TEST

/* A run is taken whole, unless a row of it was taken by itself. */
START_TEST(takes_runs_whole)
{
	const struct queue_run *run;
	char lines[512], *end_of_lines = lines;
	struct row row;

	for (uint64_t number = 2; number < 7; number++)
		end_of_lines += write_number(end_of_lines, number);
	begin();
	ck_assert_ptr_null(queue_front_run(queue));
	ck_assert(push(1));
	ck_assert_uint_eq(push_run(queue, 2, 5), 5);
	ck_assert_uint_eq(push_run(queue, 7, 3), 3);
	ck_assert_ptr_null(queue_front_run(queue)); /* a row of its own is the first */
	ck_assert(queue_front(queue, &row));
	queue_pop(queue);
	run = queue_front_run(queue);
	ck_assert_ptr_nonnull(run);
	ck_assert_uint_eq(run->rows, 5);
	ck_assert_uint_eq(run->line_bytes, (uintptr_t)(end_of_lines - lines));
	ck_assert_mem_eq(run->lines, lines, run->line_bytes);
	queue_pop_run(queue);
	for (uint64_t number = 7; number < 10; number++) {
		ck_assert_int_eq(!queue_front_run(queue), number > 7);
		ck_assert(queue_front(queue, &row));
		check_shared(&row, number);
		queue_pop(queue);
	}
	ck_assert(!queue_front(queue, &row) && !queue_front_run(queue) && !queue_waits(queue));
	end();
	shared_done(&shared);
}
END_TEST

enum { READERS = 3 };

static struct queue *queues[READERS];
static atomic_bool all_pushed;

/* Each at a pace of its own. */
static void *read_shared(void *argument)
{
	struct queue *own = argument;
	uint64_t last = 0, rows = 0;
	struct row row;

	for (;;) {
		bool ended = atomic_load(&all_pushed);

		if (!queue_front(own, &row)) {
			if (ended)
				return (void *)rows;
			sched_yield();
			continue;
		}
		ck_assert_uint_gt(row.record->start_ns, last);
		last = row.record->start_ns;
		check_shared(&row, last);
		queue_pop(own);
		if (++rows % OFTEN(5000) == 0 && own == queues[1])
			usleep(2000);
	}
}

START_TEST(shares_between_threads)
{
	uint64_t lost[READERS] = { 0 };
	pthread_t threads[READERS];
	void *rows;

	for (int i = 0; i < READERS; i++) {
		begin();
		queues[i] = queue;
		pthread_create(&threads[i], NULL, read_shared, queue);
	}
	for (uint64_t number = 1; number <= ROWS / 3; number++)
		for (int i = 0; i < READERS; i++)
			lost[i] += !push_shared(queues[i], number);
	atomic_store(&all_pushed, true);
	for (int i = 0; i < READERS; i++) {
		pthread_join(threads[i], &rows);
		ck_assert_uint_eq((uintptr_t)rows + lost[i], ROWS / 3);
		queue = queues[i];
		end();
	}
	ck_assert_uint_eq(atomic_load(&shared.block->holders), 1);
	shared_done(&shared);
}
END_TEST

/* Memory that is not needed any more is given back after a while. */
START_TEST(gives_shared_memory_back)
{
	begin();
	ck_assert(push_shared(queue, 1));
	end();
	for (int i = 0; i < 1000; i++)
		shared_drained(&shared);
	ck_assert_ptr_null(shared.block);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, keeps_rows_in_order);
	tcase_add_test(tests, goes_round);
	tcase_add_test(tests, refuses_when_full);
	tcase_add_test(tests, takes_the_longest_paths);
	tcase_add_test(tests, wakes_once_a_drain);
	tcase_add_test(tests, touches_little_when_kept_empty);
	tcase_add_test(tests, gives_back_what_a_burst_took);
	tcase_add_test(tests, shares_what_is_beyond);
	tcase_add_test(tests, loses_nothing_between_threads);
	tcase_add_test(tests, refers_to_shared_rows);
	tcase_add_test(tests, takes_runs_whole);
	tcase_add_test(tests, holds_few_blocks);
	tcase_add_test(tests, shares_between_threads);
	tcase_add_test(tests, gives_shared_memory_back);
}

int main(void)
{
	return run_suite("queue", add);
}

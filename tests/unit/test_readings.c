// SPDX-License-Identifier: GPL-2.0-or-later
#include "readings.h"

#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

#define SECOND 1000000000ULL

static struct readings *readings;

static void begin(void)
{
	ck_assert_int_eq(readings_new(&readings), 0);
}

static void end(void)
{
	readings_free(readings);
}

static struct iotr_task task(uint32_t pid, uint64_t start_ns, uint64_t cpu_ns)
{
	return (struct iotr_task){ .head = { pid, pid, cpu_ns }, .start_ns = start_ns };
}

/* A file that is read in pieces, as the kernel's. */
static void read_pieces(const void *bytes, size_t size, size_t piece, struct readings_tasks *tasks)
{
	int ends[2], status;

	ck_assert_int_eq(pipe(ends), 0);
	if (!fork()) {
		close(ends[0]);
		for (size_t at = 0; at < size; at += piece)
			if (write(ends[1], (const char *)bytes + at, size - at < piece ? size - at : piece) < 0)
				_exit(1);
		_exit(0);
	}
	close(ends[1]);
	ck_assert_int_eq(readings_tasks_read(ends[0], tasks), 0);
	close(ends[0]);
	wait(&status);
}

START_TEST(adds_threads_up)
{
	struct {
		struct iotr_task_head early; /* the thread comes before its process, as after a wrap of the numbers */
		struct iotr_task first, second;
		struct iotr_task_head thread, other, stray;
	} __attribute__((packed)) bytes = {
		.early = { 20, 5, 7 },
		.first = task(10, 1, 100),
		.second = task(20, 2, 1000),
		.thread = { 10, 30, 11 },
		.other = { 10, 31, 22 },
		.stray = { 40, 41, 1 },
	};
	struct readings_tasks tasks = { 0 };

	read_pieces(&bytes, sizeof(bytes), (size_t)_i, &tasks);
	ck_assert_uint_eq(tasks.count, 2);
	ck_assert_uint_eq(tasks.tasks[0].task.head.cpu_ns, 133);
	ck_assert_uint_eq(tasks.tasks[1].task.head.cpu_ns, 1007);
	ck_assert_int_eq(tasks.tasks[0].share[0], -1);
	readings_tasks_done(&tasks);
}
END_TEST

static void set(struct readings_tasks *tasks, struct sampled_task sampled[2], uint64_t cpu_ns)
{
	sampled[0] = (struct sampled_task){ task(10, 1000000000, cpu_ns), { -1, -1, -1 } };
	sampled[1] = (struct sampled_task){ task(11, 2000000000, 0), { -1, -1, -1 } };
	*tasks = (struct readings_tasks){ .tasks = sampled, .count = 2, .capacity = 2 };
}

/* A process that takes half a CPU, read every 2.5 s. */
static void run_until(uint64_t seconds)
{
	struct sampled_task sampled[2];
	struct readings_tasks tasks;

	for (uint64_t at = SECOND; at <= seconds * SECOND; at += 5 * SECOND / 2) {
		set(&tasks, sampled, at / 2);
		ck_assert_int_eq(readings_add(readings, &tasks, at), 0);
	}
}

static const struct {
	uint64_t seconds;
	int64_t share[SAMPLER_WINDOWS];
} runs[] = {
	{ 1, { -1, -1, -1 } },	      { 7, { 5000, -1, -1 } },	    { 100, { 5000, -1, -1 } },
	{ 125, { 5000, 5000, -1 } },  { 3000, { 5000, 5000, -1 } }, { 3700, { 5000, 5000, 5000 } },
	{ 9000, { 5000, 5000, 5000 } },
};

START_TEST(knows_windows_that_have_passed)
{
	struct sampled_task sampled[2];
	struct readings_tasks tasks;

	run_until(runs[_i].seconds);
	set(&tasks, sampled, (runs[_i].seconds * SECOND + SECOND / 3) / 2);
	readings_shares(readings, &tasks, runs[_i].seconds * SECOND + SECOND / 3);
	for (size_t i = 0; i < SAMPLER_WINDOWS; i++) {
		ck_assert_int_eq(sampled[0].share[i], runs[_i].share[i]);
		ck_assert_int_eq(sampled[1].share[i], runs[_i].share[i] < 0 ? -1 : 0);
	}
}
END_TEST

/* A process whose number an earlier one had has no share yet, like any new process. */
START_TEST(tells_processes_apart)
{
	struct sampled_task sampled[2];
	struct readings_tasks tasks;

	run_until(10);
	set(&tasks, sampled, 20 * SECOND);
	sampled[0].task.start_ns += SECOND;
	sampled[1].task.head.tgid = 12;
	readings_shares(readings, &tasks, 10 * SECOND);
	ck_assert_int_eq(sampled[0].share[0], -1);
	ck_assert_int_eq(sampled[1].share[0], -1);
}
END_TEST

START_TEST(forgets)
{
	struct sampled_task sampled[2];
	struct readings_tasks tasks;

	run_until(200);
	readings_forget(readings);
	set(&tasks, sampled, 100 * SECOND);
	readings_shares(readings, &tasks, 200 * SECOND);
	ck_assert_int_eq(sampled[0].share[0], -1);
	ck_assert_int_eq(sampled[0].share[1], -1);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_loop_test(tests, adds_threads_up, 1, 100);
	tcase_add_loop_test(tests, knows_windows_that_have_passed, 0,
			    (int)(sizeof(runs) / sizeof(runs[0])));
	tcase_add_test(tests, tells_processes_apart);
	tcase_add_test(tests, forgets);
}

int main(void)
{
	return run_suite("readings", add);
}

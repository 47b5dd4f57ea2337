// SPDX-License-Identifier: GPL-2.0-or-later
/* Work that a thread does for the main loop. */
#include "errand.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "suite.h"

#define LONG_NS 60000000000ULL

/* An errand that lasts until the other end of a pipe is closed, as if it waited for a disk. */
struct job {
	struct errand errand;
	int disk[2];
	_Atomic int worked, dropped;
	int done;
};

static struct errands errands;
static struct job jobs[ERRANDS_MAX + 2];

static void work(struct errand *errand)
{
	struct job *job = (struct job *)errand;
	struct pollfd disk = { .fd = job->disk[0] };

	poll(&disk, 1, -1);
	job->worked = 1;
}

static void done(struct errand *errand)
{
	((struct job *)errand)->done++;
}

static void drop(struct errand *errand)
{
	((struct job *)errand)->dropped++;
}

static int job_begin(struct job *job, bool unbounded)
{
	ck_assert_int_eq(pipe(job->disk), 0);
	job->errand = (struct errand){ .work = work, .done = done, .drop = drop, .unbounded = unbounded };
	return errand_begin(&errands, &job->errand);
}

static void disk_answers(struct job *job)
{
	close(job->disk[1]);
}

static uint64_t soon(void)
{
	return clock_ns(CLOCK_MONOTONIC) + LONG_NS;
}

static void begin(void)
{
	errands = (struct errands){ .notice = eventfd(0, EFD_CLOEXEC) };
	memset(jobs, 0, sizeof(jobs));
}

static void end(void)
{
	close(errands.notice);
}

START_TEST(notifies_when_done)
{
	eventfd_t value;

	ck_assert_int_eq(job_begin(&jobs[0], false), 0);
	errands_see_to(&errands);
	ck_assert_int_eq(jobs[0].done, 0);
	disk_answers(&jobs[0]);
	ck_assert_int_eq(eventfd_read(errands.notice, &value), 0);
	errands_see_to(&errands);
	errands_see_to(&errands);
	ck_assert_int_eq(jobs[0].done, 1);
	ck_assert_int_eq(jobs[0].worked, 1);
	ck_assert(errands_end(&errands, soon()));
	ck_assert_int_eq(jobs[0].dropped, 0);
}
END_TEST

START_TEST(is_waited_for)
{
	ck_assert_int_eq(job_begin(&jobs[0], false), 0);
	ck_assert_int_eq(job_begin(&jobs[1], false), 0);
	ck_assert(!errand_wait(&jobs[0].errand, 0));
	disk_answers(&jobs[0]);
	ck_assert(errand_wait(&jobs[0].errand, soon()));
	ck_assert_int_eq(jobs[0].worked, 1);
	ck_assert_int_eq(jobs[0].done, 0);
	errands_see_to(&errands);
	ck_assert_int_eq(jobs[0].done, 1);
	ck_assert_int_eq(jobs[1].done, 0);
	disk_answers(&jobs[1]);
	ck_assert(errands_end(&errands, soon()));
}
END_TEST

START_TEST(is_abandoned)
{
	ck_assert_int_eq(job_begin(&jobs[0], false), 0);
	errand_abandon(&jobs[0].errand);
	ck_assert(!errands_end(&errands, 0));
	disk_answers(&jobs[0]);
	ck_assert(errands_end(&errands, soon()));
	ck_assert_int_eq(jobs[0].dropped, 1);
	ck_assert_int_eq(jobs[0].done, 0);
}
END_TEST

START_TEST(is_limited_in_number)
{
	for (size_t i = 0; i < ERRANDS_MAX; i++)
		ck_assert_int_eq(job_begin(&jobs[i], false), 0);
	ck_assert_int_eq(job_begin(&jobs[ERRANDS_MAX], false), -EAGAIN);
	ck_assert_int_eq(job_begin(&jobs[ERRANDS_MAX + 1], true), 0);
	for (size_t i = 0; i < ERRANDS_MAX + 2; i++)
		disk_answers(&jobs[i]);
	ck_assert(errands_end(&errands, soon()));
	ck_assert_int_eq(job_begin(&jobs[0], false), 0);
	disk_answers(&jobs[0]);
	ck_assert(errands_end(&errands, soon()));
}
END_TEST

START_TEST(unbounded_ones_leave_room)
{
	for (size_t i = 0; i < ERRANDS_MAX; i++)
		ck_assert_int_eq(job_begin(&jobs[i], true), 0);
	ck_assert_int_eq(job_begin(&jobs[ERRANDS_MAX], false), 0);
	for (size_t i = 0; i < ERRANDS_MAX + 1; i++)
		disk_answers(&jobs[i]);
	ck_assert(errands_end(&errands, soon()));
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, notifies_when_done);
	tcase_add_test(tests, is_waited_for);
	tcase_add_test(tests, is_abandoned);
	tcase_add_test(tests, is_limited_in_number);
	tcase_add_test(tests, unbounded_ones_leave_room);
}

int main(void)
{
	return run_suite("errand", add);
}

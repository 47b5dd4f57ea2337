// SPDX-License-Identifier: GPL-2.0-or-later
#include "storage/rest.h"

#include <linux/ioprio.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clocks.h"
#include "suite.h"

static void check_cpu(int policy, int nice)
{
	ck_assert_int_eq(sched_getscheduler(0), policy);
	ck_assert_int_eq(getpriority(PRIO_PROCESS, 0), nice);
}

static void check_disk(int class, int level)
{
	long priority = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);

	ck_assert_int_eq(IOPRIO_PRIO_CLASS(priority), class);
	ck_assert_int_eq(IOPRIO_PRIO_DATA(priority), level);
}

START_TEST(an_old_segment_gets_a_share)
{
	uint64_t now = clocks_realtime_ns();

	ck_assert_int_eq(rest_of_segment(now), REST_IDLE);
	ck_assert_int_eq(rest_of_segment(now - REST_PATIENCE_NS / 2), REST_IDLE);
	ck_assert_int_eq(rest_of_segment(now - REST_PATIENCE_NS), REST_BEHIND);
	ck_assert_int_eq(rest_of_segment(0), REST_BEHIND);
}
END_TEST

/* A segment cannot be kept waiting for as long as the clock was set back. */
START_TEST(a_clock_that_was_set_back_is_no_reason_to_wait)
{
	ck_assert_int_eq(rest_of_segment(clocks_realtime_ns() + 3600 * 1000000000ULL), REST_BEHIND);
}
END_TEST

START_TEST(the_thread_goes_back_and_comes_again)
{
	int nice = getpriority(PRIO_PROCESS, 0);

	rest_cpu(REST_IDLE);
	check_cpu(SCHED_IDLE, 0);
	rest_cpu(REST_NOT);
	check_cpu(SCHED_OTHER, 0);
	rest_cpu(REST_BEHIND);
	check_cpu(SCHED_OTHER, 19);
	rest_cpu(REST_NOT);
	check_cpu(SCHED_OTHER, 0);
	setpriority(PRIO_PROCESS, 0, nice);
}
END_TEST

START_TEST(requests_of_the_disk_go_last)
{
	rest_disk(REST_IDLE);
	check_disk(IOPRIO_CLASS_IDLE, 0);
	rest_disk(REST_BEHIND);
	check_disk(IOPRIO_CLASS_BE, 7);
	rest_disk(REST_NOT);
	check_disk(IOPRIO_CLASS_NONE, 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, an_old_segment_gets_a_share);
	tcase_add_test(tests, a_clock_that_was_set_back_is_no_reason_to_wait);
	if (geteuid() == 0) /* others may go behind, and not come back */
		tcase_add_test(tests, the_thread_goes_back_and_comes_again);
	tcase_add_test(tests, requests_of_the_disk_go_last);
}

int main(void)
{
	return run_suite("rest", add);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* What triggers see: times of operations from one look to the next, and pressure. */
#include "session/timings.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fake_timing.h"
#include "pipeline/clocks.h"
#include "session/pressure.h"
#include "suite.h"

#define MS 1000000ULL

static const struct timing_operation fsync_ = { IOTR_VFS, IOTR_VFS_FSYNC }, open_ = { IOTR_VFS, IOTR_VFS_OPEN };

static struct errands errands;
static struct timings *timings;

static void begin(void)
{
	fake_timing = (struct fake_timing){ 0 };
	errands = (struct errands){ .notice = eventfd(0, EFD_CLOEXEC) };
	ck_assert_int_eq(timings_new(&errands, NULL, &timings), 0);
}

static void end(void)
{
	timings_free(timings);
	ck_assert(errands_end(&errands, clocks_mono_ns() + 10000 * MS));
	ck_assert_int_eq(fake_timing.loaded, 0);
	close(errands.notice);
}

/* Has the programs loaded, or refused. */
static void load(void)
{
	eventfd_t value;

	eventfd_read(errands.notice, &value);
	errands_see_to(&errands);
}

START_TEST(tells_what_was_added)
{
	const struct timing_operation both[] = { fsync_, open_ };
	const struct iotr_timing *told;

	begin();
	fake_timing.counts[0] = (struct iotr_timing){ .ended = 100, .latency[5] = 0xffffffff };
	timings_want(timings, both, 2);
	ck_assert_ptr_null(timings_of(timings, &fsync_));
	load();
	timings_take(timings);
	ck_assert_msg(!timings_of(timings, &fsync_), "what was there before the first look is told as new");
	fake_timing.counts[0].ended = 103;
	fake_timing.counts[0].latency[5] += 3; /* wraps around */
	fake_timing.counts[0].errnos[ENOSPC] = 2;
	timings_take(timings);
	told = timings_of(timings, &fsync_);
	ck_assert_uint_eq(told->ended, 3);
	ck_assert_uint_eq(told->latency[5], 3);
	ck_assert_uint_eq(told->errnos[ENOSPC], 2);
	ck_assert_uint_eq(timings_of(timings, &open_)->ended, 0);
	end();
}
END_TEST

/* An operation keeps its place while others come and go, and one that takes a place begins anew. */
START_TEST(keeps_places)
{
	const struct timing_operation both[] = { fsync_, open_ };

	begin();
	timings_want(timings, both, 2);
	load();
	timings_take(timings);
	timings_take(timings);
	timings_want(timings, &open_, 1);
	ck_assert_ptr_null(timings_of(timings, &fsync_));
	ck_assert_ptr_nonnull(timings_of(timings, &open_));
	ck_assert_int_eq(fake_timing.operations[0].stream, IOTR_STREAM_COUNT);
	ck_assert_int_eq(fake_timing.operations[1].operation, IOTR_VFS_OPEN);
	timings_want(timings, both, 2);
	ck_assert_int_eq(fake_timing.operations[0].operation, IOTR_VFS_FSYNC);
	timings_take(timings);
	ck_assert_ptr_null(timings_of(timings, &fsync_));
	timings_want(timings, NULL, 0);
	ck_assert_int_eq(fake_timing.loaded, 0);
	end();
}
END_TEST

START_TEST(tells_why_not)
{
	begin();
	fake_timing.refused = "no such kernel";
	timings_want(timings, &fsync_, 1);
	load();
	timings_take(timings);
	ck_assert_str_eq(timings_error(timings), "no such kernel");
	timings_want(timings, NULL, 0);
	ck_assert_str_eq(timings_error(timings), "");
	end();
}
END_TEST

START_TEST(is_abandoned)
{
	begin();
	timings_want(timings, &fsync_, 1);
	end();
}
END_TEST

/* The first bucket above is told by none below: each value is at most an eighth above its bucket. */
START_TEST(finds_quantiles)
{
	struct iotr_timing timing = { 0 };

	ck_assert_uint_eq(timing_quantile(&timing, 990), 0);
	timing.latency[7] = 990;  /* 896 ns */
	timing.latency[8] = 9;	  /* 1024 ns */
	timing.latency[239] = 1;  /* the longest */
	ck_assert_uint_eq(timing_quantile(&timing, 500), 896);
	ck_assert_uint_eq(timing_quantile(&timing, 990), 896);
	ck_assert_uint_eq(timing_quantile(&timing, 991), 1024);
	ck_assert_uint_eq(timing_quantile(&timing, 999), 1024);
	ck_assert_uint_eq(timing_quantile(&timing, 1000), (15ULL << 28) * 128);
	timing = (struct iotr_timing){ .latency[16] = 1 };
	ck_assert_uint_eq(timing_quantile(&timing, 1), 2048);
}
END_TEST

START_TEST(reads_pressure)
{
	struct pressure pressure;

	ck_assert_int_eq(pressure_parse("some avg10=1.02 avg60=20.00 avg300=0.07 total=123456\n"
					"full avg10=0.50 avg60=99.99 avg300=0.00 total=12\n", &pressure), 0);
	ck_assert_uint_eq(pressure.total_us[0], 123456);
	ck_assert_uint_eq(pressure.total_us[1], 12);
	ck_assert_uint_eq(pressure.average[0][0], 102);
	ck_assert_uint_eq(pressure.average[1][1], 9999);
	ck_assert_uint_eq(pressure.average[0][2], 7);
	ck_assert_int_eq(pressure_parse("some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n", &pressure), 0);
	ck_assert_uint_eq(pressure.total_us[1], 0);
	ck_assert_int_eq(pressure_parse("", &pressure), -EBADMSG);
	ck_assert_int_eq(pressure_parse("full avg10=0.00 avg60=0.00 avg300=0.00 total=1\n", &pressure), -EBADMSG);
	ck_assert_int_eq(pressure_parse("some avg10=x\n", &pressure), -EBADMSG);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, tells_what_was_added);
	tcase_add_test(tests, keeps_places);
	tcase_add_test(tests, tells_why_not);
	tcase_add_test(tests, is_abandoned);
	tcase_add_test(tests, finds_quantiles);
	tcase_add_test(tests, reads_pressure);
}

int main(void)
{
	return run_suite("timings", add);
}

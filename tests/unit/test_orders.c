// SPDX-License-Identifier: GPL-2.0-or-later
/* The queue of ordered snapshots, with the real process that takes them. */
#include "orders.h"

#include <errno.h>

#include "folder.h"
#include "suite.h"

enum { OTHERS = 4 };

/* An order, and the state that its handler got. */
struct asked {
	enum snapshot_kind kind;
	int folder_fd;
	unsigned int ended;
	struct snapshot_state last;
};

static struct folder folder, output;
static sd_event *event;
static struct orders *orders;
static const char *country;
static struct asked asked[OTHERS];

static void orders_begin(const char *program)
{
	const struct orders_config config = { .event = event, .program = program, .country = &country };

	ck_assert_int_eq(orders_new(&config, &orders), 0);
}

static void begin(void)
{
	folder_begin(&folder);
	folder_begin(&output);
	ck_assert_int_ge(sd_event_new(&event), 0);
	orders_begin(PROGRAM);
	memset(asked, 0, sizeof(asked));
}

static void end(void)
{
	for (size_t i = 0; i < OTHERS; i++) {
		orders_drop(orders, &asked[i]);
		if (asked[i].folder_fd)
			close(asked[i].folder_fd);
	}
	orders_free(orders);
	sd_event_unref(event);
	folder_end(&output);
	folder_end(&folder);
}

static void on_state(enum snapshot_kind kind, const struct snapshot_state *state, void *userdata)
{
	struct asked *one = userdata;

	ck_assert_int_eq(kind, one->kind);
	ck_assert_uint_eq(one->ended, 0);
	one->ended = state->ended_ns != 0;
	one->last = *state;
}

/* Each order has a descriptor of its own, by which it is found. */
static struct asked *order(size_t i, enum snapshot_kind kind, const char *root)
{
	struct snapshot_request request = { .kind = kind, .number = (uint32_t)i + 1, .depth = 100 };
	const struct order_config config = { .request = &request,
					     .folder_fd = fcntl(output.fd, F_DUPFD_CLOEXEC, 3),
					     .handler = on_state,
					     .userdata = &asked[i] };

	snprintf(request.root, sizeof(request.root), "%s", root);
	asked[i].kind = kind;
	asked[i].folder_fd = config.folder_fd;
	ck_assert_int_eq(orders_add(orders, &config), 0);
	return &asked[i];
}

static bool is_ordered(const struct asked *one)
{
	const struct snapshot_state *state;

	return orders_find(orders, one->folder_fd, one->kind, &state);
}

static bool is_running(const struct asked *one)
{
	const struct snapshot_state *state = NULL;

	return orders_find(orders, one->folder_fd, one->kind, &state) && state;
}

static void turn(void)
{
	ck_assert_int_ge(sd_event_run(event, 60000000), 0);
}

START_TEST(takes_one)
{
	struct asked *walk = order(0, SNAPSHOT_FILESYSTEM, folder.path);

	ck_assert(is_ordered(walk));
	while (!walk->ended)
		turn();
	ck_assert(!is_ordered(walk));
	ck_assert_int_eq(walk->last.error, 0);
	ck_assert(folder_has(&output, "filesystem_snapshot/filesystem_snap_000001.csv.gz"));
}
END_TEST

START_TEST(takes_one_of_each_lane_at_a_time)
{
	const struct asked *walks[] = { order(0, SNAPSHOT_FILESYSTEM, folder.path),
					order(1, SNAPSHOT_FILESYSTEM, folder.path) };
	const struct asked *others[] = { order(2, SNAPSHOT_SYSTEM, "/"), order(3, SNAPSHOT_SYSTEM, "/") };

	ck_assert(!is_running(walks[0]) && !is_running(others[0]));
	turn();
	ck_assert(is_running(walks[0]) && is_running(others[0]));
	while (!walks[1]->ended || !others[1]->ended) {
		ck_assert(!is_running(walks[1]) || walks[0]->ended);
		ck_assert(!is_running(others[1]) || others[0]->ended);
		turn();
	}
	for (size_t i = 0; i < OTHERS; i++)
		ck_assert_int_eq(asked[i].last.error, 0);
}
END_TEST

START_TEST(goes_on_after_one_that_was_dropped)
{
	struct asked *first = order(0, SNAPSHOT_FILESYSTEM, "/"), *next = order(1, SNAPSHOT_FILESYSTEM, folder.path);

	while (!is_running(first))
		turn();
	orders_drop(orders, first);
	ck_assert(!is_ordered(first));
	while (!next->ended)
		turn();
	ck_assert_uint_eq(first->ended, 0);
	ck_assert_int_eq(next->last.error, 0);
}
END_TEST

START_TEST(ends_those_into_a_folder)
{
	struct asked *running = order(0, SNAPSHOT_FILESYSTEM, "/"), *waiting = order(1, SNAPSHOT_FILESYSTEM, "/"),
		     *other = order(2, SNAPSHOT_FILESYSTEM, folder.path);

	while (!is_running(running))
		turn();
	orders_end(orders, running->folder_fd, "enough");
	ck_assert_uint_eq(running->ended, 1);
	ck_assert_int_eq(running->last.error, -ECANCELED);
	ck_assert_str_eq(running->last.message, "enough");
	orders_end(orders, waiting->folder_fd, "enough");
	ck_assert_uint_eq(waiting->ended, 1);
	ck_assert_int_eq(waiting->last.error, -ECANCELED);
	ck_assert_uint_eq(waiting->last.started_ns, 0);
	ck_assert(is_ordered(other));
	while (!other->ended)
		turn();
	ck_assert_int_eq(other->last.error, 0);
}
END_TEST

START_TEST(tells_that_no_process_begins)
{
	const struct asked *one;

	orders_free(orders);
	orders_begin("/nonexistent");
	one = order(0, SNAPSHOT_SYSTEM, "/");
	while (!one->ended)
		turn();
	ck_assert_int_eq(one->last.error, -ENOENT);
	ck_assert_ptr_nonnull(strstr(one->last.message, "no process can be started"));
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, takes_one);
	tcase_add_test(tests, takes_one_of_each_lane_at_a_time);
	tcase_add_test(tests, goes_on_after_one_that_was_dropped);
	tcase_add_test(tests, ends_those_into_a_folder);
	tcase_add_test(tests, tells_that_no_process_begins);
}

int main(void)
{
	return run_suite("orders", add);
}

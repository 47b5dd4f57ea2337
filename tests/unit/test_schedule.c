// SPDX-License-Identifier: GPL-2.0-or-later
/* The snapshots of a session, with the process that takes them. */
#include "schedule.h"

#include "folder.h"
#include "suite.h"

#define HOUR_NS 3600000000000ULL

static struct folder folder, output;
static sd_event *event;
static struct orders *orders;
static struct schedule *schedule;
static const char *country = "";
static struct json_object *list; /* the last list that was published */
static uint64_t bytes;

static void begin(void)
{
	ck_assert_int_ge(sd_event_new(&event), 0);
	ck_assert_int_eq(orders_new(&(struct orders_config){ event, PROGRAM, &country }, &orders), 0);
	folder_begin(&folder);
	folder_begin(&output);
	schedule = NULL;
	list = NULL;
	bytes = 0;
}

static void end(void)
{
	schedule_end(schedule);
	schedule_free(schedule);
	json_object_put(list);
	orders_free(orders);
	sd_event_unref(event);
	folder_end(&output);
	folder_end(&folder);
}

static void on_grown(uint64_t more, void *userdata)
{
	ck_assert_ptr_eq(userdata, &bytes);
	bytes += more;
}

static int publish(struct json_object *new, writer_handler handler, void *handler_userdata, void *userdata)
{
	ck_assert_ptr_eq(userdata, &bytes);
	json_object_put(list);
	list = new;
	if (handler)
		handler(0, NULL, handler_userdata);
	return 0;
}

static void start(const struct iotr_snapshots *wanted)
{
	static const struct rights own = { 0 };
	const struct schedule_config config = { .orders = orders,
						.event = event,
						.session = "a",
						.wanted = wanted,
						.folder_fd = output.fd,
						.reads = &own,
						.writes = &own,
						.grown = on_grown,
						.publish = publish,
						.userdata = &bytes };

	ck_assert_int_eq(schedule_new(&config, &schedule), 0);
}

static void start_walks(const char *root, uint64_t interval_ns)
{
	struct iotr_snapshots wanted = { .filesystem_ns = interval_ns, .depth = 100 };

	snprintf(wanted.root, sizeof(wanted.root), "%s", root);
	start(&wanted);
}

static void turn(void)
{
	ck_assert_int_ge(sd_event_run(event, 60000000), 0);
}

static const char *member(struct json_object *object, const char *key)
{
	return json_object_get_string(json_object_object_get(object, key));
}

/* The published entry of this number; NULL: there are not that many. */
static struct json_object *entry(size_t i)
{
	return list && i < json_object_array_length(list) ? json_object_array_get_idx(list, i) : NULL;
}

static void check_state(enum snapshot_kind kind, const char *state)
{
	struct json_object *status = schedule_status(schedule);
	struct json_object *one = json_object_object_get(status, snapshot_kind_name(kind));

	ck_assert_str_eq(member(one, "state"), state);
	json_object_put(status);
}

START_TEST(takes_them_at_the_start)
{
	struct iotr_snapshots wanted = { .system = true, .filesystem_ns = HOUR_NS };

	strcpy(wanted.root, folder.path);
	start(&wanted);
	check_state(SNAPSHOT_SYSTEM, "waiting");
	check_state(SNAPSHOT_FILESYSTEM, "waiting");
	while (!entry(2))
		turn();
	ck_assert_ptr_null(entry(3));
	check_state(SNAPSHOT_SYSTEM, "done");
	check_state(SNAPSHOT_FILESYSTEM, "done");
	ck_assert_uint_gt(bytes, 0);
	for (size_t i = 0; i < 3; i++)
		ck_assert(folder_has(&output, member(entry(i), "path")));
}
END_TEST

START_TEST(takes_nothing_that_is_not_wanted)
{
	struct json_object *status;

	start(&(struct iotr_snapshots){ .root = "/" });
	status = schedule_status(schedule);
	ck_assert_int_eq(json_object_object_length(status), 0);
	json_object_put(status);
}
END_TEST

START_TEST(takes_them_at_intervals)
{
	start_walks(folder.path, 1000000);
	while (!entry(2))
		turn();
	ck_assert_str_eq(member(entry(0), "path"), "filesystem_snapshot/filesystem_snap_000001.csv.gz");
	ck_assert_str_eq(member(entry(1), "path"), "filesystem_snapshot/filesystem_snap_000002.csv.gz");
	ck_assert_str_eq(member(entry(2), "path"), "filesystem_snapshot/filesystem_snap_000003.csv.gz");
}
END_TEST

START_TEST(cancels_at_the_end)
{
	start_walks("/", HOUR_NS);
	turn();
	check_state(SNAPSHOT_FILESYSTEM, "running");
	schedule_end(schedule);
	check_state(SNAPSHOT_FILESYSTEM, "failed");
	ck_assert_ptr_nonnull(entry(0));
	ck_assert_ptr_null(entry(1));
	ck_assert_ptr_null(member(entry(0), "path"));
	ck_assert_str_eq(member(entry(0), "message"), "the session ended before");
}
END_TEST

static void on_state(enum snapshot_kind kind, const struct snapshot_state *state, void *userdata)
{
	if (state->ended_ns)
		schedule_add(schedule, kind, state);
	*(bool *)userdata = state->ended_ns;
}

static void on_published(int result, const struct writer_paths *paths, void *userdata)
{
	(void)paths;
	*(bool *)userdata = result == 0;
}

START_TEST(takes_one_on_request)
{
	static const struct rights own = { 0 };
	const struct schedule_wish wish = { SNAPSHOT_FILESYSTEM, folder.path, 100, &own };
	bool ended = false, published = false;

	start(&(struct iotr_snapshots){ .root = "/" });
	ck_assert_int_eq(schedule_order(schedule, &wish, on_state, &ended), 0);
	check_state(SNAPSHOT_FILESYSTEM, "waiting");
	while (!ended)
		turn();
	ck_assert_ptr_null(list);
	ck_assert_int_eq(schedule_publish(schedule, on_published, &published), 0);
	ck_assert(published);
	ck_assert(folder_has(&output, member(entry(0), "path")));
}
END_TEST

START_TEST(resolves_what_is_left_open)
{
	const struct iotr_snapshots usual = { .system = true, .process_ns = 1, .filesystem_ns = 2, .root = "/a", .depth = 3 };
	struct iotr_snapshots none = { 0 }, some = { .given = IOTR_SNAPSHOTS_PROCESS | IOTR_SNAPSHOTS_ROOT, .root = "/b" };

	schedule_resolve(&none, NULL);
	ck_assert(!none.system && !none.process_ns && !none.filesystem_ns);
	ck_assert_str_eq(none.root, "/");
	schedule_resolve(&some, &usual);
	ck_assert(some.system);
	ck_assert_uint_eq(some.process_ns, 0);
	ck_assert_uint_eq(some.filesystem_ns, 2);
	ck_assert_str_eq(some.root, "/b");
	ck_assert_uint_eq(some.depth, 3);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, takes_them_at_the_start);
	tcase_add_test(tests, takes_nothing_that_is_not_wanted);
	tcase_add_test(tests, takes_them_at_intervals);
	tcase_add_test(tests, cancels_at_the_end);
	tcase_add_test(tests, takes_one_on_request);
	tcase_add_test(tests, resolves_what_is_left_open);
}

int main(void)
{
	return run_suite("schedule", add);
}

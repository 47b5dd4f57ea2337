// SPDX-License-Identifier: GPL-2.0-or-later
/* Snapshots on request into a folder of their own, with the process that takes them. */
#include "on_demand.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "cleanup.h"
#include "clock.h"
#include "storage_rig.h"

#define WALK_FILE "filesystem_snapshot/filesystem_snap_000001.csv.gz"

static struct folder state, walked;
static sd_event *event;
static struct errands errands;
static struct orders *orders;
static struct on_demand *asked;
static const char *country = "";
static struct json_object *result; /* NULL: not yet, or there was an error */
static struct engine_error problem;
static bool ended;

static int on_notice(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	eventfd_t value;

	(void)source, (void)events, (void)userdata;
	eventfd_read(fd, &value);
	errands_see_to(&errands);
	return 0;
}

static void demand_begin(void)
{
	begin(0, 0);
	folder_begin(&state);
	folder_begin(&walked);
	errands = (struct errands){ .notice = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	ck_assert_int_ge(sd_event_new(&event), 0);
	ck_assert_int_ge(sd_event_add_io(event, NULL, errands.notice, EPOLLIN, on_notice, NULL), 0);
	ck_assert_int_eq(orders_new(&(struct orders_config){ event, PROGRAM, &country }, &orders), 0);
	asked = NULL;
	result = NULL;
	problem = (struct engine_error){ 0 };
	ended = false;
}

static void demand_end(void)
{
	on_demand_free(asked);
	orders_free(orders);
	ck_assert(errands_end(&errands, clock_ns(CLOCK_MONOTONIC) + 60000000000ULL));
	json_object_put(result);
	sd_event_unref(event);
	close(errands.notice);
	folder_end(&walked);
	folder_end(&state);
	end();
}

static void on_snapshot(struct json_object *progress, struct json_object *done, const struct engine_error *error,
			void *userdata)
{
	(void)userdata;
	ck_assert(!ended);
	if (progress) {
		json_object_put(progress);
		return;
	}
	ended = true;
	result = done;
	problem = *error;
}

static void demand(const char *output, const char *root)
{
	const struct on_demand_config config = { .orders = orders,
						 .folder = { .errands = &errands,
							     .storage = storage,
							     .log_dir = logs.path,
							     .state_dir = state.path,
							     .log_rights = &own } };
	const struct on_demand_request request = { .output = output,
						   .kinds = 1U << SNAPSHOT_FILESYSTEM,
						   .root = root,
						   .depth = 100,
						   .caller = &own };

	ck_assert_int_eq(on_demand_new(&config, &request, on_snapshot, NULL, &asked, &problem), 0);
}

static void turn(void)
{
	ck_assert_int_ge(sd_event_run(event, 60000000), 0);
}

static void await_end(void)
{
	while (!ended)
		turn();
}

static const char *output_of(struct json_object *done)
{
	return json_object_get_string(json_object_object_get(done, "output"));
}

/* Whether the folder, which is below that of the logs, has the file. */
static bool holds(const char *folder, const char *file)
{
	char path[PATH_MAX];

	ck_assert_int_eq(strncmp(folder, logs.path, strlen(logs.path)), 0);
	snprintf(path, sizeof(path), "%s/%s", folder + strlen(logs.path) + 1, file);
	return folder_has(&logs, path);
}

START_TEST(makes_a_folder)
{
	demand(NULL, walked.path);
	await_end();
	ck_assert_str_eq(problem.message, "");
	ck_assert_ptr_nonnull(strstr(output_of(result), "/snapshots/"));
	ck_assert(holds(output_of(result), WALK_FILE));
	ck_assert(holds(output_of(result), "manifest.json"));
	ck_assert_int_eq(json_object_array_length(json_object_object_get(result, "snapshots")), 1);
}
END_TEST

START_TEST(uses_the_folder_that_was_named)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/here", logs.path);
	demand(path, walked.path);
	await_end();
	ck_assert_str_eq(output_of(result), path);
	ck_assert(holds(path, WALK_FILE));
	ck_assert(holds(path, "manifest.json"));
}
END_TEST

START_TEST(tells_that_the_folder_cannot_be_made)
{
	demand("/nonexistent/here", walked.path);
	await_end();
	ck_assert_ptr_null(result);
	ck_assert_str_eq(problem.parameter, "output");
}
END_TEST

/* The folder is removed if no snapshot was taken, or if the request was cancelled. */
static void check_no_folder(void)
{
	ck_assert(errands_end(&errands, clock_ns(CLOCK_MONOTONIC) + 60000000000ULL));
	ck_assert_int_eq(unlinkat(logs.fd, "snapshots", AT_REMOVEDIR), 0);
}

START_TEST(removes_a_folder_without_a_snapshot)
{
	demand(NULL, "/nonexistent");
	await_end();
	ck_assert_ptr_nonnull(strstr(problem.message, "/nonexistent"));
	check_no_folder();
}
END_TEST

START_TEST(is_cancelled_while_its_folder_is_made)
{
	demand(NULL, "/");
	on_demand_free(TAKE(asked));
	check_no_folder();
	ck_assert(!ended);
}
END_TEST

START_TEST(is_cancelled_after_that)
{
	demand(NULL, "/");
	while (errands.first)
		turn();
	on_demand_free(TAKE(asked));
	check_no_folder();
	ck_assert(!ended);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, demand_begin, demand_end);
	tcase_add_test(tests, makes_a_folder);
	tcase_add_test(tests, uses_the_folder_that_was_named);
	tcase_add_test(tests, tells_that_the_folder_cannot_be_made);
	tcase_add_test(tests, removes_a_folder_without_a_snapshot);
	tcase_add_test(tests, is_cancelled_while_its_folder_is_made);
	tcase_add_test(tests, is_cancelled_after_that);
}

int main(void)
{
	return run_suite("on_demand", add);
}

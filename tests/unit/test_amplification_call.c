// SPDX-License-Identifier: GPL-2.0-or-later
/* The Amplification method: it is counted while somebody watches, and otherwise only by the configuration. */
#include "rig.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cleanup.h"
#include "fake_layers.h"
#include "protocol.h"
#include "suite.h"

#define CALL(more, parameters)                                                                                          \
	"{\"method\":\"io.iotracer.Amplification\",\"more\":" more ",\"parameters\":" parameters "}"
#define SHORT "\"duration_ns\":2000000000,\"interval_ns\":100000000"

static struct rig rig;

/* An account of which the process is nowhere in /proc. */
static void put_account(uint32_t id, const char *program, uint64_t bytes)
{
	struct layers_account *account = &fake_layers.accounts[fake_layers.count++];

	*account = (struct layers_account){
		.kind = LAYERS_PROCESS,
		.key = { .process = id, .start_ns = 1 },
		.process = { .start_ns = 1, .exited_ns = 1 },
	};
	strcpy(account->process.command, program);
	strcpy(account->process.executable, program);
	account->sums[IOTR_LAYER_APP_WRITE] = (struct iotr_layer_sum){ .operations = 1, .bytes = bytes };
	account->sums[IOTR_LAYER_DEVICE_WRITE] = (struct iotr_layer_sum){ .operations = 2, .bytes = 3 * bytes };
}

static void set_up(void)
{
	fake_layers_reset();
	rig_init(&rig);
}

static void tear_down(void)
{
	rig_done(&rig);
	ck_assert(!fake_layers.attached);
}

static int open_call(const char *text)
{
	int fd = rig_connect(&rig);

	ck_assert(rig_send(&rig, fd, text, strlen(text) + 1));
	return fd;
}

/* What was counted before the call is none of its counts. */
START_TEST(counts_while_somebody_watches)
{
	_cleanup_close_ int fd = -1;
	bool more = true;
	int replies = 0;

	put_account(4000001, "postgres", 100);
	ck_assert(!fake_layers.attached);
	fd = open_call(CALL("true", "{" SHORT "}"));
	while (more) {
		_cleanup_json_ struct json_object *reply = rig_receive(&rig, fd);

		more = rig_continues(reply);
		ck_assert_str_eq(rig_error(reply), "");
		if (!replies++) {
			ck_assert(fake_layers.attached);
			ck_assert_str_eq(rig_parameter(reply, "groups"), "[ ]");
			put_account(4000002, "etcd", 1000);
			fake_layers.accounts[0].sums[IOTR_LAYER_APP_WRITE].bytes += 4;
		} else if (!more) {
			ck_assert_str_eq(rig_text_at(reply, "/parameters/groups/0/name"), "etcd");
			ck_assert_str_eq(rig_text_at(reply, "/parameters/groups/0/write/by_bytes/value"), "3.0000");
			ck_assert_str_eq(rig_text_at(reply, "/parameters/groups/0/write/by_operations/value"), "3.0000");
			ck_assert_str_eq(rig_text_at(reply, "/parameters/groups/1/name"), "PostgreSQL");
			ck_assert_str_eq(rig_text_at(reply, "/parameters/groups/1/write/application/bytes"), "4");
			ck_assert_str_eq(rig_text_at(reply, "/parameters/groups/1/read/by_bytes/reason"),
					 "there was no byte of the application to divide by");
			ck_assert_str_eq(rig_text_at(reply, "/parameters/by"), "system");
		}
	}
	ck_assert_int_ge(replies, 2);
	rig_settle(&rig);
	ck_assert(!fake_layers.attached);
	ck_assert_uint_eq(fake_layers.loaded, 1);
}
END_TEST

START_TEST(ends_when_the_client_hangs_up)
{
	int fd = open_call(CALL("true", "{\"interval_ns\":100000000}"));

	json_object_put(rig_receive(&rig, fd));
	ck_assert(fake_layers.attached);
	close(fd);
	rig_settle(&rig);
	ck_assert(!fake_layers.attached);
}
END_TEST

/* It hangs up while the programs are being loaded. */
START_TEST(is_left_early)
{
	int fd = open_call(CALL("true", "{}"));

	close(fd);
	rig_settle(&rig);
	ck_assert(!fake_layers.attached);
}
END_TEST

START_TEST(counts_all_the_time_if_configured)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = NULL, *again = NULL;

	engine_set_counting(rig.engine, true);
	put_account(4000001, "etcd", 100);
	reply = rig_call(&rig, fd, CALL("false", "{\"count\":1}"));
	ck_assert_str_eq(rig_error(reply), "");
	ck_assert(fake_layers.attached);
	put_account(4000002, "minio", 1000);
	put_account(4000003, "nobody", 10);
	again = rig_call(&rig, fd, CALL("false", "{\"count\":1}"));
	ck_assert_str_eq(rig_text_at(again, "/parameters/groups/0/name"), "MinIO");
	ck_assert_str_eq(rig_text_at(again, "/parameters/others/write/application/bytes"), "10");
	ck_assert_str_eq(rig_text_at(again, "/parameters/all/write/application/bytes"), "1010");
	engine_set_counting(rig.engine, false);
	ck_assert(!fake_layers.attached);
}
END_TEST

START_TEST(says_why_it_cannot)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = NULL;

	fake_layers.refused = "the kernel refuses";
	reply = rig_call(&rig, fd, CALL("false", "{" SHORT "}"));
	ck_assert_str_eq(rig_error(reply), IOTR_NO_HOOK);
	ck_assert_str_eq(rig_parameter(reply, "reason"), "the kernel refuses");
}
END_TEST

START_TEST(says_what_is_missing)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = NULL;

	fake_layers.missing = (struct layers_missing){ .layers = 1U << IOTR_LAYER_DEVICE_WRITE,
						       .hook = "block_rq_complete", .why = "no disks" };
	put_account(4000001, "etcd", 100);
	engine_set_counting(rig.engine, true);
	json_object_put(rig_call(&rig, fd, CALL("false", "{}")));
	fake_layers.accounts[0].sums[IOTR_LAYER_APP_WRITE].bytes += 4;
	reply = rig_call(&rig, fd, CALL("false", "{\"by\":\"process\"}"));
	ck_assert_str_eq(rig_text_at(reply, "/parameters/missing/0/hook"), "block_rq_complete");
	ck_assert_str_eq(rig_text_at(reply, "/parameters/groups/0/pid"), "4000001");
	ck_assert_str_eq(rig_text_at(reply, "/parameters/groups/0/system"), "etcd");
	ck_assert_str_eq(rig_text_at(reply, "/parameters/groups/0/write/by_bytes/reason"),
			 "the kernel does not tell what reaches the disks");
}
END_TEST

static void put_latency(struct layers_account *account, enum iotr_layer layer, size_t bucket, uint64_t count, uint64_t sum_ns)
{
	account->latency[layer][bucket] = count;
	account->latency_ns[layer] = sum_ns;
}

/* The latencies of a layer are those of all that it is made of; reads that waited for other layers are apart. */
START_TEST(tells_latencies)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = NULL;
	struct layers_account *account = &fake_layers.accounts[0];

	engine_set_counting(rig.engine, true);
	json_object_put(rig_call(&rig, fd, CALL("false", "{}")));
	put_account(4000001, "etcd", 100);
	put_latency(account, IOTR_LAYER_FS_WRITE, 3, 2, 2000);
	put_latency(account, IOTR_LAYER_FS_JOURNAL_WRITE, 5, 1, 3001);
	put_latency(account, IOTR_LAYER_CACHE_HIT, 1, 4, 800);
	put_latency(account, IOTR_LAYER_CACHE_MISS, 9, 1, 40000);
	reply = rig_call(&rig, fd, CALL("false", "{}"));
	ck_assert_str_eq(rig_text_at(reply, "/parameters/all/write/filesystem/latency"),
			 "{ \"timed\": 3, \"mean_ns\": 1667, \"p50_ns\": 1024, \"p99_ns\": 4096, \"histogram\": [ "
			 "{ \"from_ns\": 512, \"to_ns\": 1024, \"operations\": 2 }, "
			 "{ \"from_ns\": 2048, \"to_ns\": 4096, \"operations\": 1 } ] }");
	ck_assert_str_eq(rig_text_at(reply, "/parameters/all/parts/journal_write/latency/mean_ns"), "3001");
	ck_assert_str_eq(rig_text_at(reply, "/parameters/all/parts/data_write/latency/timed"), "2");
	ck_assert_str_eq(rig_text_at(reply, "/parameters/all/read/cache/latency/mean_ns"), "200");
	ck_assert_str_eq(rig_text_at(reply, "/parameters/all/parts/cache_miss/latency/timed"), "1");
	ck_assert_str_eq(rig_text_at(reply, "/parameters/all/write/cache"),
			 "{ \"operations\": 0, \"bytes\": 0, \"errors\": 0, \"latency\": null, \"factor\": { \"value\": 0.0000, "
			 "\"at_least\": false } }");
	engine_set_counting(rig.engine, false);
}
END_TEST

/* So many may watch at once, and one more has to wait for another to end. */
START_TEST(limits_who_watches)
{
	_cleanup_json_ struct json_object *reply = NULL;
	int fds[9];

	for (int i = 0; i < 8; i++) {
		fds[i] = open_call(CALL("true", "{\"interval_ns\":100000000}"));
		json_object_put(rig_receive(&rig, fds[i]));
	}
	fds[8] = open_call(CALL("true", "{}"));
	reply = rig_receive(&rig, fds[8]);
	ck_assert_str_eq(rig_error(reply), IOTR_FAILED);
	for (int i = 0; i < 9; i++)
		close(fds[i]);
	rig_settle(&rig);
}
END_TEST

/* Replies when counting begins, and when the caller sends no more; the machine is counted, too. */
START_TEST(tells_a_command_apart)
{
	int fd = open_call(CALL("true", "{\"pid\":4000002,\"by\":\"process\"}"));
	_cleanup_json_ struct json_object *begun = rig_receive(&rig, fd), *reply = NULL;

	ck_assert_str_eq(rig_error(begun), "");
	ck_assert(rig_continues(begun));
	ck_assert_uint_eq(fake_layers.followed, 4000002);
	put_account(4000001, "etcd", 100);
	put_account(4000002, "minio", 10);
	shutdown(fd, SHUT_WR);
	reply = rig_receive(&rig, fd);
	ck_assert(!rig_continues(reply));
	ck_assert_str_eq(rig_text_at(reply, "/parameters/groups/0/name"), "minio");
	ck_assert_str_eq(rig_text_at(reply, "/parameters/command/write/application/bytes"), "10");
	ck_assert_str_eq(rig_text_at(reply, "/parameters/all/write/application/bytes"), "110");
	ck_assert_str_eq(rig_text_at(reply, "/parameters/unfollowed"), "0");
	ck_assert_int_eq(json_object_array_length(json_object_object_get(
		json_object_object_get(reply, "parameters"), "groups")), 1);
	close(fd);
	rig_settle(&rig);
}
END_TEST

/* The bit of a command that is over is used again, and nothing is left of it. */
START_TEST(forgets_a_command)
{
	int other = open_call(CALL("true", "{\"interval_ns\":100000000}")), fd;
	_cleanup_json_ struct json_object *reply = NULL;

	json_object_put(rig_receive(&rig, other));
	put_account(4000001, "etcd", 100);
	fd = open_call(CALL("true", "{\"pid\":4000001}"));
	json_object_put(rig_receive(&rig, fd));
	ck_assert_uint_eq(fake_layers.commands, 1);
	close(fd);
	rig_settle(&rig);
	ck_assert_uint_eq(fake_layers.commands, 0);
	fd = open_call(CALL("true", "{\"pid\":4000002}"));
	json_object_put(rig_receive(&rig, fd));
	ck_assert_uint_eq(fake_layers.commands, 1);
	fake_layers.accounts[0].sums[IOTR_LAYER_APP_WRITE].bytes += 4;
	shutdown(fd, SHUT_WR);
	reply = rig_receive(&rig, fd);
	ck_assert_str_eq(rig_text_at(reply, "/parameters/command/write/application/bytes"), "0");
	ck_assert_str_eq(rig_text_at(reply, "/parameters/all/write/application/bytes"), "4");
	close(fd);
	close(other);
	rig_settle(&rig);
}
END_TEST

/* The caller shut its side down before counting has begun. */
START_TEST(ends_a_command_at_once)
{
	int fd = open_call(CALL("true", "{\"pid\":4000002}"));
	_cleanup_json_ struct json_object *reply = NULL;

	shutdown(fd, SHUT_WR);
	reply = rig_receive(&rig, fd);
	if (rig_continues(reply)) {
		json_object_put(reply);
		reply = rig_receive(&rig, fd);
	}
	ck_assert(!rig_continues(reply));
	ck_assert_str_eq(rig_parameter(reply, "groups"), "[ ]");
	close(fd);
	rig_settle(&rig);
}
END_TEST

START_TEST(says_that_a_command_is_gone)
{
	_cleanup_close_ int fd = -1;
	_cleanup_json_ struct json_object *reply = NULL;

	fake_layers.follow_error = -ESRCH;
	fd = open_call(CALL("true", "{\"pid\":4000002}"));
	reply = rig_receive(&rig, fd);
	ck_assert_str_eq(rig_error(reply), VARLINK_INVALID_PARAMETER);
	ck_assert_str_eq(rig_parameter(reply, "parameter"), "pid");
}
END_TEST

/* A process that exists is not said to be gone. */
START_TEST(says_why_a_command_is_not_followed)
{
	_cleanup_close_ int fd = -1;
	_cleanup_json_ struct json_object *reply = NULL;

	fake_layers.follow_error = -E2BIG;
	fd = open_call(CALL("true", "{\"pid\":4000002}"));
	reply = rig_receive(&rig, fd);
	ck_assert_str_eq(rig_error(reply), IOTR_NO_HOOK);
	ck_assert_str_eq(rig_parameter(reply, "reason"),
			 "the kernel does not let the processes of a command be followed: Argument list too long");
	ck_assert_uint_eq(fake_layers.commands, 0);
}
END_TEST

static const struct rig_case cases[] = {
	{ CALL("false", "{}"), VARLINK_INVALID_PARAMETER, "parameter", "duration_ns" },
	{ CALL("false", "{\"duration_ns\":1}"), VARLINK_INVALID_PARAMETER, "parameter", "duration_ns" },
	{ CALL("false", "{\"duration_ns\":9000000000000000}"), VARLINK_INVALID_PARAMETER, "parameter", "duration_ns" },
	{ CALL("true", "{\"interval_ns\":99999999}"), VARLINK_INVALID_PARAMETER, "parameter", "interval_ns" },
	{ CALL("true", "{\"by\":\"disk\"}"), VARLINK_INVALID_PARAMETER, "parameter", "by" },
	{ CALL("true", "{\"systems\":[\"Postgres\"]}"), VARLINK_INVALID_PARAMETER, "parameter", "systems" },
	{ CALL("true", "{\"systems\":[]}"), VARLINK_INVALID_PARAMETER, "parameter", "systems" },
	{ CALL("true", "{\"count\":0}"), VARLINK_INVALID_PARAMETER, "parameter", "count" },
	{ CALL("true", "{\"count\":201}"), VARLINK_INVALID_PARAMETER, "parameter", "count" },
	{ CALL("true", "{\"pid\":0}"), VARLINK_INVALID_PARAMETER, "parameter", "pid" },
	{ CALL("true", "{\"pid\":4194305}"), VARLINK_INVALID_PARAMETER, "parameter", "pid" },
	{ CALL("false", "{\"pid\":1}"), VARLINK_INVALID_PARAMETER, "parameter", "pid" },
	{ CALL("true", "{\"pid\":1,\"systems\":[\"etcd\"]}"), VARLINK_INVALID_PARAMETER, "parameter", "systems" },
	{ CALL("true", "{\"name\":\"x\"}"), VARLINK_INVALID_PARAMETER, "parameter", "name" },
};

START_TEST(refuses)
{
	rig_judge(&rig, &cases[_i]);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, counts_while_somebody_watches);
	tcase_add_test(tests, ends_when_the_client_hangs_up);
	tcase_add_test(tests, is_left_early);
	tcase_add_test(tests, counts_all_the_time_if_configured);
	tcase_add_test(tests, says_why_it_cannot);
	tcase_add_test(tests, says_what_is_missing);
	tcase_add_test(tests, tells_latencies);
	tcase_add_test(tests, limits_who_watches);
	tcase_add_test(tests, tells_a_command_apart);
	tcase_add_test(tests, forgets_a_command);
	tcase_add_test(tests, ends_a_command_at_once);
	tcase_add_test(tests, says_that_a_command_is_gone);
	tcase_add_test(tests, says_why_a_command_is_not_followed);
	tcase_add_loop_test(tests, refuses, 0, sizeof(cases) / sizeof(cases[0]));
}

int main(void)
{
	return run_suite("amplification_call", add);
}

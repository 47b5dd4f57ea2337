// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers for Prometheus: what they are, over HTTP and in a file, and that nobody can keep others from them. */
#include "metrics/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cleanup.h"
#include "config/config_parse.h"
#include "metrics/metrics_http.h"
#include "metrics/metrics_listen.h"
#include "metrics/metrics_text.h"
#include "metrics/metrics_users.h"
#include "pipeline/clocks.h"
#include "rig.h"
#include "stand_outside.h"
#include "suite.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static struct rig rig;
static struct metrics *metrics;
static struct config_metrics config;

static void begin(void)
{
	rig_init(&rig);
	ck_assert_int_eq(metrics_new(rig.engine, rig.control.event, &metrics), 0);
	config = (struct config_metrics){ .interval_ns = 1000000000 };
}

static void end(void)
{
	metrics_free(metrics);
	rig_done(&rig);
}

/* A port that nobody has now. */
static void choose_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t length = sizeof(address);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	config.listen = address;
}

static int dial(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	ck_assert_int_ge(fd, 0);
	if (connect(fd, (struct sockaddr *)&config.listen, sizeof(config.listen)) < 0)
		ck_assert_int_eq(errno, EINPROGRESS);
	return fd;
}

/* All that comes until the other end closes; false: nothing did within the time. */
static bool receive(int fd, char *text, size_t size, uint64_t ns)
{
	uint64_t until = clocks_mono_ns() + ns;
	size_t length = 0;
	ssize_t n;

	while ((n = recv(fd, text + length, size - 1 - length, 0))) {
		if (n > 0) {
			length += (size_t)n;
			ck_assert_uint_lt(length, size - 1);
			continue;
		}
		if (errno != EAGAIN || clocks_mono_ns() > until)
			return false;
		sd_event_run(rig.control.event, 10000);
	}
	text[length] = '\0';
	return true;
}

static char reply[1 << 20];

static bool ask_within(const char *request, uint64_t ns)
{
	_cleanup_close_ int fd = dial();

	for (uint64_t until = clocks_mono_ns() + ns; send(fd, request, strlen(request), MSG_NOSIGNAL) < 0;) {
		if (clocks_mono_ns() > until)
			return false;
		sd_event_run(rig.control.event, 10000);
	}
	return receive(fd, reply, sizeof(reply), ns);
}

static const char *ask(const char *request)
{
	ck_assert(ask_within(request, RIG_TIMEOUT_USEC * 1000ULL));
	return reply;
}

#define GET "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"

static const char *text_now(void)
{
	static char copy[1 << 20];
	size_t length = 0;
	_cleanup_free_ char *text = metrics_text(rig.engine, &length);

	ck_assert_ptr_nonnull(text);
	ck_assert_uint_lt(length, sizeof(copy));
	ck_assert_uint_eq(strlen(text), length);
	strcpy(copy, text);
	return copy;
}

static bool has_line(const char *text, const char *line)
{
	const char *at = text;
	size_t length = strlen(line);

	while ((at = strstr(at, line))) {
		if ((at == text || at[-1] == '\n') && at[length] == '\n')
			return true;
		at++;
	}
	return false;
}

/* The number of the series, which must be there. */
static double value(const char *text, const char *series)
{
	char line[256];
	const char *at;

	snprintf(line, sizeof(line), "\n%s ", series);
	at = strstr(text, line);
	ck_assert_msg(at != NULL, "there is no %s in %s", series, text);
	return strtod(at + strlen(line), NULL);
}

START_TEST(tells_what_sessions_do)
{
	double rows, bytes;
	const char *text;

	begin();
	text = text_now();
	ck_assert_ptr_nonnull(strstr(text, "\niotracer_info{version=\""));
	ck_assert(has_line(text, "iotracer_rows_total{stream=\"vfs\"} 0"));
	ck_assert(has_line(text, "iotracer_lost_rows_total{stream=\"drop\",cause=\"unmatched\"} 0"));
	ck_assert(has_line(text, "iotracer_sessions{state=\"running\",by=\"client\"} 0"));
	ck_assert_ptr_null(strstr(text, "{session="));

	rig_start(&rig, "one", "");
	fake_ring_fill(3);
	do {
		sd_event_run(rig.control.event, 10000);
		text = text_now();
		rows = value(text, "iotracer_rows_total{stream=\"vfs\"}");
	} while (!rows);
	ck_assert(has_line(text, "iotracer_sessions{state=\"running\",by=\"client\"} 1"));
	ck_assert(value(text, "iotracer_session_rows_total{session=\"one\"}") > 0);
	ck_assert(value(text, "iotracer_session_disk_failing{session=\"one\"}") == 0);
	value(text, "iotracer_session_cpu_seconds_total{session=\"one\"}");

	/* When it has ended, it has no series of its own; the sums have what it did. */
	rig_stop(&rig, "one");
	text = text_now();
	ck_assert_ptr_null(strstr(text, "{session="));
	ck_assert(value(text, "iotracer_rows_total{stream=\"vfs\"}") >= rows);
	ck_assert(has_line(text, "iotracer_sessions_ended_total 1"));
	rows = value(text, "iotracer_rows_total{stream=\"vfs\"}");
	bytes = value(text, "iotracer_bytes_total{stream=\"vfs\"}");
	rig_start(&rig, "two", "");
	text = text_now();
	ck_assert(value(text, "iotracer_rows_total{stream=\"vfs\"}") >= rows);
	ck_assert(value(text, "iotracer_bytes_total{stream=\"vfs\"}") >= bytes);
	end();
}
END_TEST

/* However many sessions there were, there are series of those that run. */
START_TEST(is_bounded)
{
	size_t lines = 0;
	char name[32];

	begin();
	for (int i = 0; i < IOTR_SESSIONS_MAX; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		rig_start(&rig, name, "");
	}
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		rig_stop(&rig, name);
		snprintf(name, sizeof(name), "again%d", i);
		rig_start(&rig, name, "");
	}
	for (const char *at = text_now(); (at = strstr(at, "{session=\"")); at++)
		lines++;
	ck_assert_uint_eq(lines, 6 * IOTR_SESSIONS_MAX);
	end();
}
END_TEST

START_TEST(answers)
{
	begin();
	choose_port();
	metrics_set(metrics, &config);
	ask(GET);
	ck_assert_ptr_nonnull(strstr(reply, "HTTP/1.1 200"));
	ck_assert_ptr_nonnull(strstr(reply, "text/plain; version=0.0.4"));
	ck_assert_ptr_nonnull(strstr(reply, "\niotracer_rows_total{stream=\"vfs\"} "));
	ck_assert_ptr_nonnull(strstr(ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 404"));
	ck_assert_ptr_nonnull(strstr(ask("POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"), "HTTP/1.1 405"));
	config.listen.sin_port = 0;
	metrics_set(metrics, &config);
	ck_assert_int_eq(sd_event_run(rig.control.event, 0) > 1, 0);
	end();
}
END_TEST

START_TEST(listens_outside)
{
	pid_t outside;

	begin();
	outside = stand_outside(rig.folder.path, "listen", metrics_listen_main);
	choose_port();
	metrics_set(metrics, &config);
	ck_assert_int_eq(stood_outside(outside), 0); /* it has opened the socket, and is gone */
	ck_assert_ptr_nonnull(strstr(ask(GET), "HTTP/1.1 200"));
	end();
}
END_TEST

static int break_down(void)
{
	return 1;
}

/* Nothing listens then, and the daemon does not open what its unit keeps it from. */
START_TEST(bears_a_process_that_fails)
{
	pid_t outside;

	begin();
	outside = stand_outside(rig.folder.path, "listen", break_down);
	choose_port();
	ck_assert_int_eq(metrics_listen(&config.listen), -ECONNRESET);
	stood_outside(outside);
	end();
}
END_TEST

START_TEST(opens_for_this_machine_alone)
{
	pid_t outside;

	begin();
	outside = stand_outside(rig.folder.path, "listen", metrics_listen_main);
	choose_port();
	config.listen.sin_addr.s_addr = htonl(INADDR_ANY);
	ck_assert_int_eq(metrics_listen(&config.listen), -EADDRNOTAVAIL);
	ck_assert_int_eq(stood_outside(outside), 0);
	end();
}
END_TEST

static void turns(int count)
{
	for (int i = 0; i < count; i++)
		sd_event_run(rig.control.event, 10000);
}

/* However many say nothing or half of something, who asks is served; and so he is when they are cut off together. */
START_TEST(serves_while_all_are_taken)
{
	const struct linger at_once = { .l_onoff = 1 };
	int fds[3 * METRICS_CONNECTIONS];

	begin();
	choose_port();
	metrics_set(metrics, &config);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < LENGTH(fds); i++) {
			fds[i] = dial();
			setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
			send(fds[i], "GET /met", round * 4, MSG_NOSIGNAL);
			if (i % 16 == 0)
				turns(3);
			if (i % 64 == 1)
				ck_assert_ptr_nonnull(strstr(ask(GET), "HTTP/1.1 200"));
		}
		turns(30);
		ck_assert_ptr_nonnull(strstr(ask(GET), "HTTP/1.1 200"));
		for (size_t i = 0; i < LENGTH(fds); i++)
			close(fds[i]);
		ck_assert_ptr_nonnull(strstr(ask(GET), "HTTP/1.1 200"));
	}
	end();
}
END_TEST

/* One who goes on to say something, but never all of it, has no more time than others. */
START_TEST(cuts_off_who_is_slow)
{
	uint64_t begun = clocks_mono_ns();
	char byte;
	int fd;

	begin();
	choose_port();
	metrics_set(metrics, &config);
	fd = dial();
	turns(3);
	send(fd, "GET /metrics HTTP/1.1\r\nSlow: ", 30, MSG_NOSIGNAL);
	while (recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN) {
		ck_assert_uint_lt(clocks_mono_ns() - begun, (METRICS_VISIT_S + 5) * 1000000000ULL);
		send(fd, "y", 1, MSG_NOSIGNAL);
		usleep(50000);
		turns(2);
	}
	ck_assert_uint_gt(clocks_mono_ns() - begun, (METRICS_VISIT_S - 5) * 1000000000ULL);
	close(fd);
	ck_assert_ptr_nonnull(strstr(ask(GET), "HTTP/1.1 200"));
	end();
}
END_TEST

START_TEST(finds_users)
{
	struct metrics_peer peers[2] = { { .user = METRICS_NOBODY }, { .user = METRICS_NOBODY } };
	socklen_t size = sizeof(peers[0].from);
	int fd;

	begin();
	choose_port();
	metrics_set(metrics, &config);
	fd = dial();
	turns(3);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&peers[0].from, &size), 0);
	metrics_users_find(peers, 2);
	ck_assert_uint_eq(peers[0].user, geteuid());
	ck_assert_uint_eq(peers[1].user, METRICS_NOBODY);
	close(fd);
	end();
}
END_TEST

/* Many a second get the same text. */
START_TEST(makes_few_texts)
{
	begin();
	choose_port();
	metrics_set(metrics, &config);
	for (int i = 0; i < 100; i++)
		ck_assert_ptr_nonnull(strstr(ask(GET), "HTTP/1.1 200"));
	end();
}
END_TEST

START_TEST(refuses_what_is_no_request)
{
	static char large[64 * 1024];

	begin();
	choose_port();
	metrics_set(metrics, &config);
	memset(large, 'a', sizeof(large) - 1);
	memcpy(large, "GET /", 5);
	ask_within(large, 1000000000);
	ask_within("\x16\x03\x01\r\n\r\n", 1000000000);
	ck_assert_ptr_nonnull(strstr(ask(GET), "HTTP/1.1 200"));
	end();
}
END_TEST

static void await_file(const char *path)
{
	uint64_t until = clocks_mono_ns() + RIG_TIMEOUT_USEC * 1000ULL;

	while (access(path, F_OK) < 0) {
		ck_assert_uint_lt(clocks_mono_ns(), until);
		sd_event_run(rig.control.event, 10000);
	}
}

/* A link that somebody has laid there is not followed, and the file is whole, and for all to read. */
START_TEST(writes_a_file)
{
	char beside[PATH_MAX + 8], victim[PATH_MAX];
	struct stat status;
	FILE *file;
	size_t length;

	begin();
	snprintf(config.text_file, sizeof(config.text_file), "%s/iotracer.prom", rig.folder.path);
	snprintf(beside, sizeof(beside), "%s.tmp", config.text_file);
	snprintf(victim, sizeof(victim), "%s/victim", rig.folder.path);
	ck_assert_int_eq(symlink(victim, beside), 0);
	metrics_set(metrics, &config);
	await_file(config.text_file);
	ck_assert_int_lt(access(victim, F_OK), 0);
	ck_assert_int_lt(access(beside, F_OK), 0);
	ck_assert_int_eq(lstat(config.text_file, &status), 0);
	ck_assert(S_ISREG(status.st_mode));
	ck_assert_uint_eq(status.st_mode & 0777, 0644);
	file = fopen(config.text_file, "r");
	length = fread(reply, 1, sizeof(reply) - 1, file);
	fclose(file);
	reply[length] = '\0';
	ck_assert(has_line(reply, "iotracer_sessions_ended_total 0"));
	ck_assert_int_eq(reply[length - 1], '\n');
	unlink(config.text_file);
	await_file(config.text_file); /* again, after the interval */
	config.text_file[0] = '\0';
	metrics_set(metrics, &config);
	end();
}
END_TEST

/* Neither a file that is just being written, nor a listener, is waited for. */
START_TEST(end_waits_for_nobody)
{
	uint64_t before;
	int fd;

	begin();
	snprintf(config.text_file, sizeof(config.text_file), "%s/iotracer.prom", rig.folder.path);
	choose_port();
	metrics_set(metrics, &config);
	fd = dial();
	sd_event_run(rig.control.event, 100000);
	before = clocks_mono_ns();
	metrics_free(metrics);
	ck_assert_uint_lt(clocks_mono_ns() - before, 1000000000ULL);
	close(fd);
	rig_done(&rig);
}
END_TEST

static const struct {
	const char *value;
	bool right;
} addresses[] = {
	{ "off", true },	      { "127.0.0.1:9469", true }, { "127.255.0.1:1", true }, { "0.0.0.0:9469", false },
	{ "192.168.0.1:80", false },  { "127.0.0.1", false },	  { "127.0.0.1:0", false },  { "127.0.0.1:65536", false },
	{ "localhost:9469", false },  { ":9469", false },	  { "127.0.0.1:x", false },
	{ "1111111111111111111111:9", false },
};

START_TEST(listens_to_this_machine_alone)
{
	struct sockaddr_in address;
	const char *wrong = config_parse_listen(addresses[_i].value, &address);

	ck_assert_msg(!wrong == addresses[_i].right, "%s: %s", addresses[_i].value, wrong ?: "taken");
}
END_TEST

START_TEST(settings_have_limits)
{
	char path[PATH_MAX];
	uint64_t ns = 0;

	ck_assert_ptr_null(config_parse_text_file("/var/lib/x.prom", path));
	ck_assert_str_eq(path, "/var/lib/x.prom");
	ck_assert_ptr_nonnull(config_parse_text_file("/var/lib/x.txt", path));
	ck_assert_ptr_nonnull(config_parse_text_file("x.prom.prom", path));
	ck_assert_ptr_nonnull(config_parse_text_file("", path));
	ck_assert_ptr_null(config_parse_period("1s", &ns));
	ck_assert_uint_eq(ns, 1000000000);
	ck_assert_ptr_nonnull(config_parse_period("999ms", &ns));
	ck_assert_ptr_nonnull(config_parse_period("25h", &ns));
	ck_assert_ptr_nonnull(config_parse_period("off", &ns));
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, tells_what_sessions_do);
	tcase_add_test(tests, is_bounded);
	tcase_add_test(tests, answers);
	tcase_add_test(tests, listens_outside);
	tcase_add_test(tests, bears_a_process_that_fails);
	tcase_add_test(tests, opens_for_this_machine_alone);
	tcase_add_test(tests, serves_while_all_are_taken);
	tcase_add_test(tests, finds_users);
	tcase_add_test(tests, makes_few_texts);
	tcase_add_test(tests, cuts_off_who_is_slow);
	tcase_add_test(tests, refuses_what_is_no_request);
	tcase_add_test(tests, writes_a_file);
	tcase_add_test(tests, end_waits_for_nobody);
	tcase_add_loop_test(tests, listens_to_this_machine_alone, 0, LENGTH(addresses));
	tcase_add_test(tests, settings_have_limits);
}

int main(void)
{
	return run_suite("metrics", add_tests);
}

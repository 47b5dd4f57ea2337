// SPDX-License-Identifier: GPL-2.0-or-later
#include "log.h"

#include "log_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "suite.h"

enum { FIELDS = 32, BYTES = 16384 };

static char fields[FIELDS][BYTES]; /* of the last message that the journal was given */
static int given, messages, refusal;

int __wrap_sd_journal_sendv(const struct iovec *vector, int count);
int __wrap_sd_journal_sendv(const struct iovec *vector, int count)
{
	if (refusal)
		return refusal;
	ck_assert_int_le(count, FIELDS);
	for (int i = 0; i < count; i++) {
		ck_assert_uint_lt(vector[i].iov_len, BYTES);
		memcpy(fields[i], vector[i].iov_base, vector[i].iov_len);
		fields[i][vector[i].iov_len] = '\0';
	}
	given = count;
	messages++;
	return 0;
}

static bool has(const char *field)
{
	for (int i = 0; i < given; i++)
		if (!strcmp(fields[i], field))
			return true;
	return false;
}

/* stderr becomes a pipe, whose other end is returned; for a journal that reads it, the environment says so. */
static int begin(bool journal)
{
	char stream[64];
	struct stat st;
	int ends[2];

	given = messages = refusal = 0;
	ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
	ck_assert_int_ge(dup2(ends[1], STDERR_FILENO), 0);
	close(ends[1]);
	fstat(STDERR_FILENO, &st);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	if (journal)
		setenv("JOURNAL_STREAM", stream, true);
	else
		unsetenv("JOURNAL_STREAM");
	log_open();
	log_set_level(LOG_INFO);
	return ends[0];
}

/* What came through the pipe. */
static const char *lines(int fd)
{
	static char text[BYTES];
	ssize_t got = read(fd, text, sizeof(text) - 1);

	text[got > 0 ? got : 0] = '\0';
	return text;
}

START_TEST(journal_gets_fields)
{
	const uid_t root = 0;
	int fd = begin(true);

	log_message(ABOUT(ROWS_LOST, .session = "one", .stream = "vfs", .cause = "ring", .rows = 7, .user = &root),
		    "%d rows\n", 7);
	ck_assert_int_eq(messages, 1);
	ck_assert(has("MESSAGE=7 rows?"));
	ck_assert(has("PRIORITY=4"));
	ck_assert(has("IOTRACER_SESSION=one"));
	ck_assert(has("IOTRACER_STREAM=vfs"));
	ck_assert(has("IOTRACER_CAUSE=ring"));
	ck_assert(has("IOTRACER_ROWS=7"));
	ck_assert(has("IOTRACER_UID=0"));
	ck_assert_int_eq(given, 8);
	for (int i = 0; i < given; i++)
		ck_assert(strncmp(fields[i], "MESSAGE_ID=", 11) || !strcmp(fields[i] + 11, log_messages[LOG_ROWS_LOST].id));
	ck_assert_str_eq(lines(fd), "");
	log_message(ABOUT(DISK_REFUSES, .error = ENOSPC), "full");
	ck_assert(has("ERRNO=28"));
	ck_assert(has("PRIORITY=3"));
	log_notice("plain");
	ck_assert(has("MESSAGE=plain"));
	ck_assert(has("PRIORITY=5"));
	ck_assert_int_eq(given, 2);
	close(fd);
}
END_TEST

/* A path is any bytes: what it says stays within its field, and the longest leaves room for the others. */
START_TEST(journal_gets_any_path)
{
	static char path[PATH_MAX], line[2 * PATH_MAX];
	int fd = begin(true);

	log_message(ABOUT(DUMPED, .output = "/a\nPRIORITY=0\nMESSAGE=forged"), "into %s", "/a\nPRIORITY=0");
	ck_assert(has("IOTRACER_OUTPUT=/a\nPRIORITY=0\nMESSAGE=forged"));
	ck_assert(has("MESSAGE=into /a?PRIORITY=0"));
	ck_assert(!has("PRIORITY=0"));
	memset(path, 'p', sizeof(path) - 1);
	memset(line, 'l', sizeof(line) - 1);
	log_message(ABOUT(DUMPED, .output = path, .session = "after", .hook = "it"), "%s", line);
	for (int i = 0; i < given; i++)
		if (!strncmp(fields[i], "MESSAGE=", 8))
			ck_assert_uint_lt(strlen(fields[i]), 2048 + 8);
	ck_assert(has("IOTRACER_SESSION=after"));
	ck_assert(has("IOTRACER_HOOK=it"));
	snprintf(line, sizeof(line), "IOTRACER_OUTPUT=%s", path);
	ck_assert(has(line));
	close(fd);
}
END_TEST

START_TEST(without_a_journal_lines_are_plain)
{
	int fd = begin(false);

	log_message(ABOUT(ROWS_LOST, .session = "one", .rows = 7), "seven\trows");
	ck_assert_str_eq(lines(fd), "iotracerd: seven?rows\n");
	log_debug("nobody wants it");
	ck_assert_str_eq(lines(fd), "");
	ck_assert_int_eq(messages, 0);
	close(fd);
}
END_TEST

/* Where the journal is gone, what reads stderr may still take lines. */
START_TEST(a_refusal_goes_to_stderr)
{
	int fd = begin(true);

	refusal = -ENOENT;
	errno = EXDEV;
	log_message(ABOUT(SERVING), "serving: %m");
	ck_assert_int_eq(errno, EXDEV);
	ck_assert_str_eq(lines(fd), "<6>serving: Invalid cross-device link\n");
	close(fd);
}
END_TEST

#define NAMED(member, field) || (strlen(field) == length && !strncmp(name, field, length))

/* Whether the log has a field of that name. */
static bool is_field(const char *name, size_t length)
{
	return !strncmp(name, LOG_USER_FIELD, length) LOG_TEXTS(NAMED) LOG_NUMBERS(NAMED);
}

/* What stands between two @ in the catalogue is a field, as journalctl would show it as it stands otherwise. */
static void check_references(const char *text)
{
	for (const char *at = text; (at = strchr(at, '@'));) {
		const char *end = strchr(++at, '@');

		ck_assert_msg(end && is_field(at, (size_t)(end - at)), "%s", text);
		at = end + 1;
	}
}

static int of_user(uid_t user, int count)
{
	int before = messages;

	for (int i = 0; i < count; i++)
		log_message(ABOUT(CALL_REFUSED, .user = &user), "uid %u may not", user);
	return messages - before;
}

/* One who makes thousands of them keeps neither others' nor other kinds out, and how many were left out is told. */
START_TEST(too_many_are_left_out)
{
	const uid_t other = 2;
	int fd = begin(true), taken = of_user(1, 5000);

	ck_assert_int_ge(taken, LOG_LIMIT_BURST);
	ck_assert_int_lt(taken, 2 * LOG_LIMIT_BURST);
	ck_assert_int_eq(of_user(other, 5), 5);
	log_message(ABOUT(CLIENT_CUT_OFF, .user = &other), "cut off");
	ck_assert(has("MESSAGE=cut off"));
	messages = 0;
	for (int i = 0; i < 5000; i++)
		log_info("a text without a user");
	ck_assert_int_lt(messages, 2 * LOG_LIMIT_BURST);
	log_info("another text");
	ck_assert(has("MESSAGE=another text"));
	usleep(300000);
	ck_assert_int_eq(of_user(1, 1), 1);
	ck_assert_msg(strstr(fields[0], "MESSAGE=uid 1 may not (4") == fields[0], "%s", fields[0]);
	ck_assert_msg(strstr(fields[0], " more like this one were left out)") != NULL, "%s", fields[0]);
	log_left_out();
	ck_assert_msg(strstr(fields[0], " messages of kind other were left out, as there were too many") != NULL, "%s", fields[0]);
	close(fd);
}
END_TEST

/* However many users there are, the table has its size. */
START_TEST(limits_are_bounded)
{
	int fd = begin(true);

	for (uid_t user = 0; user < 1000; user++)
		ck_assert_int_eq(of_user(user, 3), 3);
	close(fd);
}
END_TEST

START_TEST(catalogue_is_sound)
{
	for (size_t i = LOG_NO_KIND + 1; i < LOG_KINDS; i++) {
		const struct log_message *message = &log_messages[i];

		ck_assert_uint_eq(strlen(message->id), 32);
		ck_assert_uint_eq(strspn(message->id, "0123456789abcdef"), 32);
		for (size_t j = LOG_NO_KIND + 1; j < i; j++)
			ck_assert_str_ne(message->id, log_messages[j].id);
		ck_assert(!strchr(message->subject, '\n'));
		ck_assert(!strstr(message->text, "\n\n"));
		check_references(message->subject);
		check_references(message->text);
	}
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, journal_gets_fields);
	tcase_add_test(tests, journal_gets_any_path);
	tcase_add_test(tests, without_a_journal_lines_are_plain);
	tcase_add_test(tests, a_refusal_goes_to_stderr);
	tcase_add_test(tests, too_many_are_left_out);
	tcase_add_test(tests, limits_are_bounded);
	tcase_add_test(tests, catalogue_is_sound);
}

int main(void)
{
	return run_suite("log", add_tests);
}

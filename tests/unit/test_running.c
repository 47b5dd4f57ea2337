// SPDX-License-Identifier: GPL-2.0-or-later
/* Notes of sessions that run, as the next daemon finds them. */
#include "session/running.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "folder.h"
#include "suite.h"

static struct folder folder;
static char state[128];

static void begin(void)
{
	folder_begin(&folder);
	snprintf(state, sizeof(state), "%s/state", folder.path);
}

static void end(void)
{
	folder_end(&folder);
}

static void write_note(const char *name, uint64_t started_ns, char id[RUNNING_ID_MAX])
{
	struct running_note note = {
		.started_ns = started_ns,
		.ends_ns = 99,
		.until_ns = 77,
		.owner = { .limited = true, .uid = 4000000000, .gid = 4000000001, .count = 2, .groups = { 7, 4000000002 } },
		.streams = 1U << IOTR_VFS | 1U << IOTR_NET,
		.output = "/var/log/x y",
		.inode = UINT64_MAX,
		.definition = json_tokener_parse("{\"streams\": [\"vfs\"]}"),
	};

	strcpy(note.name, name);
	ck_assert_int_eq(running_write(state, &note), 0);
	strcpy(id, note.id);
	running_note_done(&note);
}

static ssize_t count(enum running_folder which, struct running_note *first)
{
	struct running_note *notes;
	ssize_t found = running_read(state, which, &notes);

	for (ssize_t i = 0; i < found; i++)
		if (!i && first)
			*first = notes[i];
		else
			running_note_done(&notes[i]);
	free(notes);
	return found;
}

START_TEST(round_trip)
{
	struct running_note note;
	char id[RUNNING_ID_MAX];

	ck_assert_int_eq(count(RUNNING_SESSIONS, NULL), 0); /* no folder yet */
	write_note("one", 1, id);
	write_note("a.b-c_9", 18446744073709551615ULL >> 1, id);
	ck_assert_int_eq(count(RUNNING_SESSIONS, &note), 2);
	ck_assert_str_eq(note.name, "a.b-c_9");
	ck_assert_str_eq(note.id, id);
	ck_assert_uint_eq(note.started_ns, INT64_MAX);
	ck_assert_uint_eq(note.ends_ns, 99);
	ck_assert_uint_eq(note.until_ns, 77);
	ck_assert(note.owner.limited);
	ck_assert_uint_eq(note.owner.uid, 4000000000);
	ck_assert_uint_eq(note.owner.gid, 4000000001);
	ck_assert_uint_eq(note.owner.count, 2);
	ck_assert_uint_eq(note.owner.groups[1], 4000000002);
	ck_assert_uint_eq(note.streams, 1U << IOTR_VFS | 1U << IOTR_NET);
	ck_assert_str_eq(note.output, "/var/log/x y");
	ck_assert_uint_eq(note.inode, UINT64_MAX);
	ck_assert(json_object_object_get_ex(note.definition, "streams", NULL));
	running_note_done(&note);
}
END_TEST

/* A copy does not share memory with its original. */
START_TEST(copied)
{
	struct running_note note = { .name = "one", .output = "/x",
				     .definition = json_tokener_parse("{\"streams\": [\"vfs\"]}") };
	struct running_note copy;

	ck_assert_int_eq(running_note_copy(&note, &copy), 0);
	json_object_object_del(note.definition, "streams");
	running_note_done(&note);
	ck_assert_str_eq(copy.name, "one");
	ck_assert_str_eq(copy.output, "/x");
	ck_assert(json_object_object_get_ex(copy.definition, "streams", NULL));
	running_note_done(&copy);
}
END_TEST

START_TEST(moved_and_removed)
{
	char one[RUNNING_ID_MAX], other[RUNNING_ID_MAX];

	write_note("one", 1, one);
	write_note("one", 2, other);
	ck_assert_int_eq(running_move(state, one), 0);
	ck_assert_int_eq(running_move(state, one), -ENOENT);
	ck_assert_int_eq(count(RUNNING_SESSIONS, NULL), 1);
	ck_assert_int_eq(count(RUNNING_RECOVER, NULL), 1);
	running_remove(state, one);
	running_remove(state, other);
	running_remove(state, "");
	ck_assert_int_eq(count(RUNNING_SESSIONS, NULL), 0);
	ck_assert_int_eq(count(RUNNING_RECOVER, NULL), 0);
}
END_TEST

/* A name and a start may have as many bytes as they can. */
START_TEST(longest)
{
	char name[IOTR_SESSION_NAME_MAX + 1], id[RUNNING_ID_MAX];

	memset(name, 'x', IOTR_SESSION_NAME_MAX);
	name[IOTR_SESSION_NAME_MAX] = '\0';
	write_note(name, UINT64_MAX, id);
	ck_assert(strstr(id, "@18446744073709551615"));
	ck_assert_int_eq(count(RUNNING_SESSIONS, NULL), 1);
	running_remove(state, id);
	ck_assert_int_eq(count(RUNNING_SESSIONS, NULL), 0);
}
END_TEST

START_TEST(bad_ones_go)
{
	static const char *const texts[] = { "", "{}", "[]", "{\"name\":\"x\",\"output\":\"/\"}" };
	char id[RUNNING_ID_MAX], path[200];

	write_note("good", 1, id);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/running/x@%zu.json", state, i);
		file = fopen(path, "w");
		fputs(texts[i], file);
		fclose(file);
	}
	snprintf(path, sizeof(path), "%s/running/link@1.json", state);
	ck_assert_int_eq(symlink(state, path), 0);
	ck_assert_int_eq(count(RUNNING_SESSIONS, NULL), 1);
	ck_assert_int_eq(faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW), -1);
	snprintf(path, sizeof(path), "%s/running/x@3.json", state);
	ck_assert_int_lt(access(path, F_OK), 0);
	ck_assert_int_eq(count(RUNNING_SESSIONS, NULL), 1);
}
END_TEST

enum { WRITERS = 8, NOTES = 20 };

static int results[WRITERS];

/* No ck_assert here, which works in the main thread only. */
static void *write_notes(void *result)
{
	for (uint64_t i = 1; i <= NOTES && !*(int *)result; i++) {
		struct running_note note = {
			.started_ns = i << 8 | (uint64_t)((int *)result - results),
			.name = "same",
			.output = "/var/log/x",
			.definition = json_object_new_object(),
		};

		*(int *)result = running_write(state, &note);
		running_note_done(&note);
	}
	return NULL;
}

/* Sessions that start at the same time. */
START_TEST(written_together)
{
	pthread_t threads[WRITERS];

	for (size_t i = 0; i < WRITERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, write_notes, &results[i]), 0);
	for (size_t i = 0; i < WRITERS; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_int_eq(results[i], 0);
	}
	ck_assert_int_eq(count(RUNNING_SESSIONS, NULL), WRITERS * NOTES);
}
END_TEST

START_TEST(no_state_folder)
{
	struct running_note note = { .name = "x", .output = "/", .definition = NULL };

	strcpy(state, "/proc/nowhere");
	ck_assert_int_lt(running_write(state, &note), 0);
	ck_assert_str_eq(note.id, "");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, round_trip);
	tcase_add_test(tests, copied);
	tcase_add_test(tests, moved_and_removed);
	tcase_add_test(tests, longest);
	tcase_add_test(tests, bad_ones_go);
	tcase_add_test(tests, written_together);
	tcase_add_test(tests, no_state_folder);
}

int main(void)
{
	return run_suite("running", add);
}

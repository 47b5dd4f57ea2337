// SPDX-License-Identifier: GPL-2.0-or-later
/* Limits and compression with real files and the real thread. */
#include "storage.h"

#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>

#include "folder.h"
#include "suite.h"

#define SIZE (64 * 1024) /* of a segment */

static struct folder logs;
static struct storage *storage;
static struct trace *trace;

static void begin(uint64_t max_use, uint64_t keep_free)
{
	const struct storage_limits limits = { max_use, keep_free };

	folder_begin(&logs);
	ck_assert_int_eq(storage_new(logs.path, &limits, NULL, &storage), 0);
}

static void end(void)
{
	trace_free(trace);
	trace = NULL;
	storage_free(storage);
	folder_end(&logs);
}

/* NAME/START below the log folder. */
static struct trace *add_trace(const char *name, const struct trace_config *how)
{
	struct trace_config config = *how;
	struct trace *added;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", logs.path, name);
	mkdir(path, 0700);
	strcat(path, "/start");
	mkdir(path, 0700);
	config.path = path;
	config.streams = 1 << IOTR_VFS;
	config.folder_fd = open(path, O_RDONLY | O_DIRECTORY);
	mkdirat(config.folder_fd, "fs", 0700);
	ck_assert_int_eq(storage_add(storage, &config, &added), 0);
	close(config.folder_fd);
	return added;
}

static void write_file(const char *path, size_t size)
{
	int fd = openat(logs.fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	FILE *file = fdopen(fd, "w");

	ck_assert_ptr_nonnull(file);
	for (size_t i = 0; i < size; i += 16)
		fprintf(file, "%015zx\n", i * 2654435761u);
	fflush(file);
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	fclose(file);
}

static char *path_of(const char *name, unsigned int number, const char *ending)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/start/fs/fs_%06u.csv%s", name, number, ending);
	return path;
}

/* Takes room and makes a closed segment in it. */
static int add_segment(struct trace *to, const char *name, unsigned int number)
{
	int error = trace_take(to, SIZE, TRACE_ROOM_OLDEST);
	char file[32];

	if (error < 0)
		return error;
	write_file(path_of(name, number, ""), SIZE);
	trace_settle(to, SIZE, SIZE);
	snprintf(file, sizeof(file), "fs_%06u.csv", number);
	trace_closing(to, IOTR_VFS);
	trace_closed(to, IOTR_VFS, number, file, SIZE);
	trace_hashed(to, IOTR_VFS, number);
	return 0;
}

static bool has(const char *name, unsigned int number, const char *ending)
{
	return folder_has(&logs, path_of(name, number, ending));
}

static uint64_t used(struct trace *of)
{
	struct trace_counts counts;

	trace_counts(of, &counts);
	return counts.used;
}

static void wait_compressed(struct trace *of)
{
	struct trace_counts counts;

	for (int i = 0; i < 1000; i++) {
		trace_counts(of, &counts);
		if (!counts.waiting)
			return;
		poll(NULL, 0, 10);
	}
	ck_abort_msg("%llu segments still wait", (unsigned long long)counts.waiting);
}

START_TEST(removes_the_oldest_for_the_newest)
{
	struct trace_change change;

	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .keep_size = 3 * SIZE + 100 });
	for (unsigned int i = 1; i <= 5; i++) {
		ck_assert_int_eq(add_segment(trace, "a", i), 0);
		ck_assert_uint_le(used(trace), 3 * SIZE + 100);
	}
	ck_assert(!has("a", 1, "") && !has("a", 2, ""));
	ck_assert(has("a", 3, "") && has("a", 4, "") && has("a", 5, ""));
	for (unsigned int i = 1; i <= 2; i++) {
		ck_assert(trace_next_change(trace, &change));
		ck_assert(change.removed && change.stream == IOTR_VFS && change.number == i);
	}
	ck_assert(!trace_next_change(trace, &change));
	end();
}
END_TEST

START_TEST(refuses_what_fits_nowhere)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .keep_size = SIZE });
	ck_assert_int_eq(trace_take(trace, SIZE + 1, TRACE_ROOM_OLDEST), -EDQUOT);
	ck_assert_int_eq(trace_take(trace, SIZE, TRACE_ROOM_OLDEST), 0); /* an open file */
	ck_assert_int_eq(trace_take(trace, 1, TRACE_ROOM_OLDEST), -EDQUOT);
	trace_settle(trace, SIZE, 10);
	ck_assert_int_eq(trace_take(trace, SIZE - 10, TRACE_ROOM_OLDEST), 0);
	trace_settle(trace, SIZE - 10, 0);
	ck_assert_uint_eq(used(trace), 10);
	trace_give(trace, 10);
	ck_assert_uint_eq(used(trace), 0);
	end();
}
END_TEST

START_TEST(removes_nothing_where_it_must_not)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .keep_size = SIZE });
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	ck_assert_int_eq(trace_take(trace, 1, TRACE_ROOM_NONE), -EDQUOT);
	ck_assert(has("a", 1, ""));
	end();
}
END_TEST

START_TEST(keeps_so_many_segments)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .keep_segments = 2 });
	for (unsigned int i = 1; i <= 4; i++)
		ck_assert_int_eq(add_segment(trace, "a", i), 0);
	ck_assert(!has("a", 1, "") && !has("a", 2, ""));
	ck_assert(has("a", 3, "") && has("a", 4, ""));
	ck_assert_uint_eq(used(trace), 2 * SIZE);
	end();
}
END_TEST

START_TEST(takes_no_credit_for_what_others_removed)
{
	struct trace_change change;

	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .keep_size = 2 * SIZE });
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	ck_assert_int_eq(add_segment(trace, "a", 2), 0);
	unlinkat(logs.fd, path_of("a", 1, ""), 0); /* shipped */
	ck_assert_int_eq(add_segment(trace, "a", 3), 0);
	ck_assert(has("a", 2, "") && has("a", 3, ""));
	ck_assert(!trace_next_change(trace, &change));
	end();
}
END_TEST

START_TEST(compresses)
{
	struct trace_change change;
	struct stat status, text;
	char command[512];
	eventfd_t value;
	int event = eventfd(0, EFD_NONBLOCK);

	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .compress = true });
	trace_notify(trace, event);
	write_file("same", SIZE);
	ck_assert_int_eq(fstatat(logs.fd, "same", &text, 0), 0);
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	wait_compressed(trace);
	ck_assert(!has("a", 1, "") && !has("a", 1, ".gz.part"));
	snprintf(command, sizeof(command), "cd %s && zcat %s | cmp - same", logs.path,
		 path_of("a", 1, ".gz"));
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(fstatat(logs.fd, path_of("a", 1, ".gz"), &status, 0), 0);
	ck_assert_uint_eq(used(trace), (uint64_t)status.st_size);
	ck_assert_int_le(status.st_mtim.tv_sec - text.st_mtim.tv_sec, 1);
	ck_assert_int_eq(eventfd_read(event, &value), 0);
	ck_assert(trace_next_change(trace, &change));
	ck_assert(!change.removed && change.number == 1);
	ck_assert_uint_eq(change.stored, (uint64_t)status.st_size);
	close(event);
	end();
}
END_TEST

/* Older ones go for what compression needs, and it waits where there are none. */
START_TEST(compresses_within_the_limit)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .compress = true, .keep_size = 2 * SIZE });
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	wait_compressed(trace);
	ck_assert(has("a", 1, ".gz"));
	ck_assert_int_eq(trace_take(trace, 2 * SIZE - used(trace) - SIZE, TRACE_ROOM_NONE), 0);
	ck_assert_int_eq(add_segment(trace, "a", 2), 0);
	wait_compressed(trace);
	ck_assert(!has("a", 1, ".gz") && has("a", 2, ".gz"));
	ck_assert_uint_le(used(trace), 2 * SIZE);
	end();
}
END_TEST

START_TEST(waits_where_there_is_no_room)
{
	struct trace_counts counts;

	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .compress = true, .keep_size = SIZE });
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	poll(NULL, 0, 100);
	for (int i = 0; i < 1000 && has("a", 1, ".gz.part"); i++) /* it tries now and then */
		poll(NULL, 0, 10);
	trace_counts(trace, &counts);
	ck_assert_uint_eq(counts.waiting, 1);
	ck_assert(has("a", 1, "") && !has("a", 1, ".gz") && !has("a", 1, ".gz.part"));
	ck_assert_uint_eq(counts.used, SIZE);
	ck_assert_int_eq(add_segment(trace, "a", 2), 0); /* and does not stand in the way */
	ck_assert(!has("a", 1, "") && has("a", 2, ""));
	end();
}
END_TEST

static const char manifest_text[] =
	"{ \"streams\": { \"vfs\": { \"written\": 30, \"removed\": 5 } }, \"segments\": ["
	" { \"stream\": \"vfs\", \"path\": \"fs/fs_000001.csv\", \"state\": \"closed\","
	"   \"rows\": 10, \"bytes\": 65536 },"
	" { \"stream\": \"vfs\", \"path\": \"fs/fs_000002.csv\", \"state\": \"closed\","
	"   \"rows\": 20, \"bytes\": 65536 } ] }";

static void write_manifest(struct trace *to, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/start/manifest.json", name);
	fd = openat(logs.fd, path, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(trace_take(to, strlen(manifest_text), TRACE_ROOM_NONE), 0);
	ck_assert_int_eq(dprintf(fd, "%s", manifest_text), (int)strlen(manifest_text));
	trace_settle(to, strlen(manifest_text), strlen(manifest_text));
	close(fd);
}

static const char *manifest_at(const char *name, const char *pointer)
{
	struct json_object *manifest, *found = NULL;
	static char value[128];
	char path[64], *text;

	snprintf(path, sizeof(path), "%s/start/manifest.json", name);
	text = folder_read(&logs, path, NULL);
	manifest = json_tokener_parse(text);
	free(text);
	ck_assert_ptr_nonnull(manifest);
	json_pointer_get(manifest, pointer, &found);
	snprintf(value, sizeof(value), "%s", json_object_get_string(found));
	json_object_put(manifest);
	return value;
}

static void wait_manifest(const char *name, const char *pointer, const char *value)
{
	for (int i = 0; i < 500 && strcmp(manifest_at(name, pointer), value); i++)
		poll(NULL, 0, 10);
	ck_assert_str_eq(manifest_at(name, pointer), value);
}

START_TEST(tells_the_manifest_of_an_ended_session)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .compress = true, .keep_segments = 2 });
	write_manifest(trace, "a");
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	ck_assert_int_eq(add_segment(trace, "a", 2), 0);
	trace_free(trace);
	trace = NULL;
	wait_manifest("a", "/segments/1/state", "compressed");
	wait_manifest("a", "/segments/1/path", "fs/fs_000002.csv.gz");
	ck_assert_str_eq(manifest_at("a", "/segments/0/state"), "compressed");
	ck_assert_str_eq(manifest_at("a", "/segments/0/bytes"), "65536");
	ck_assert_str_eq(manifest_at("a", "/streams/vfs/removed"), "5");
	end();
}
END_TEST

/* Something stands in the manifest's way for a while. */
START_TEST(tells_the_manifest_later)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .compress = true, .keep_segments = 2 });
	write_manifest(trace, "a");
	ck_assert_int_eq(mkdirat(logs.fd, "a/start/manifest.json.tmp", 0700), 0);
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	trace_free(trace);
	trace = NULL;
	for (int i = 0; i < 500 && has("a", 1, ""); i++)
		poll(NULL, 0, 10);
	poll(NULL, 0, 100);
	ck_assert_str_eq(manifest_at("a", "/segments/0/state"), "closed");
	ck_assert_int_eq(unlinkat(logs.fd, "a/start/manifest.json.tmp", AT_REMOVEDIR), 0);
	wait_manifest("a", "/segments/0/state", "compressed");
	ck_assert_str_eq(manifest_at("a", "/segments/1/state"), "closed");
	end();
}
END_TEST

/* While there is much to compress, too. */
START_TEST(tells_of_removals_soon)
{
	const unsigned int many = 100;
	struct trace_counts counts;
	struct trace *other;
	char file[32];

	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ 0 });
	write_manifest(trace, "a");
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	trace_free(trace);
	trace = other = add_trace("b", &(struct trace_config){ .compress = true });
	for (unsigned int i = 1; i <= many; i++) {
		ck_assert_int_eq(trace_take(other, SIZE, TRACE_ROOM_OLDEST), 0);
		write_file(path_of("b", i, ""), SIZE);
		trace_settle(other, SIZE, SIZE);
		snprintf(file, sizeof(file), "fs_%06u.csv", i);
		trace_closed(other, IOTR_VFS, i, file, SIZE);
	}
	for (unsigned int i = 1; i <= many; i++)
		trace_hashed(other, IOTR_VFS, i);
	storage_set_limits(storage, &(struct storage_limits){ .max_use = many * SIZE + SIZE / 2 });
	wait_manifest("a", "/segments/0/state", "removed");
	trace_counts(other, &counts);
	ck_assert_uint_gt(counts.waiting, 0);
	end();
}
END_TEST

/* The end does not wait for it. */
START_TEST(ends_without_the_manifest)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .compress = true });
	write_manifest(trace, "a");
	ck_assert_int_eq(mkdirat(logs.fd, "a/start/manifest.json.tmp", 0700), 0);
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	wait_compressed(trace);
	end();
}
END_TEST

START_TEST(holds_the_limit_over_all_sessions)
{
	struct trace *other;

	begin(3 * SIZE + 4096, 0);
	write_file("unrelated", SIZE); /* not below a session */
	trace = add_trace("a", &(struct trace_config){ 0 });
	other = add_trace("b", &(struct trace_config){ 0 });
	write_manifest(trace, "a");
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	ck_assert_int_eq(add_segment(trace, "a", 2), 0);
	ck_assert_int_eq(add_segment(other, "b", 1), 0);
	trace_free(trace);
	ck_assert_int_eq(add_segment(other, "b", 2), 0);
	ck_assert(!has("a", 1, "") && has("a", 2, "") && has("b", 1, ""));
	wait_manifest("a", "/segments/0/state", "removed");
	ck_assert_str_eq(manifest_at("a", "/streams/vfs/removed"), "15");
	ck_assert_str_eq(manifest_at("a", "/segments/1/state"), "closed");
	trace = other;
	end();
}
END_TEST

/* Manifests of sessions without rows are many in the end. */
START_TEST(removes_emptied_folders_last)
{
	struct trace *other;

	begin(2 * SIZE, 0);
	trace = add_trace("a", &(struct trace_config){ 0 });
	write_manifest(trace, "a");
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	trace_free(trace);
	other = add_trace("b", &(struct trace_config){ 0 });
	ck_assert_int_eq(add_segment(other, "b", 1), 0);
	ck_assert_int_eq(add_segment(other, "b", 2), 0);
	wait_manifest("a", "/segments/0/state", "removed");
	ck_assert(!has("b", 1, "") && has("b", 2, ""));
	ck_assert_int_eq(trace_take(other, 2 * SIZE, TRACE_ROOM_OLDEST), 0);
	ck_assert(!folder_has(&logs, "a/start"));
	ck_assert(!has("b", 2, ""));
	trace = other;
	end();
}
END_TEST

START_TEST(trims_when_the_limit_falls)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ 0 });
	for (unsigned int i = 1; i <= 4; i++)
		ck_assert_int_eq(add_segment(trace, "a", i), 0);
	storage_set_limits(storage, &(struct storage_limits){ .max_use = 2 * SIZE });
	for (int i = 0; i < 500 && used(trace) > 2 * SIZE; i++)
		poll(NULL, 0, 10);
	ck_assert_uint_eq(used(trace), 2 * SIZE);
	ck_assert(!has("a", 2, "") && has("a", 3, ""));
	end();
}
END_TEST

/* Where others have used what was to stay free, sessions replace their oldest, and do not grow. */
START_TEST(does_not_grow_into_what_is_to_stay_free)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ 0 });
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	ck_assert_int_eq(add_segment(trace, "a", 2), 0);
	storage_set_limits(storage, &(struct storage_limits){ .keep_free = 1ULL << 60 });
	ck_assert_int_eq(add_segment(trace, "a", 3), 0);
	ck_assert(!has("a", 1, "") && has("a", 2, "") && has("a", 3, ""));
	ck_assert_int_eq(trace_take(trace, 3 * SIZE, TRACE_ROOM_OLDEST), -ENOSPC);
	end();
}
END_TEST

/* As a daemon that was killed leaves it. */
START_TEST(takes_up_what_is_there)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ 0 });
	write_manifest(trace, "a");
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	ck_assert_int_eq(add_segment(trace, "a", 2), 0);
	trace_free(trace);
	storage_free(storage);
	write_file(path_of("a", 2, ".gz.part"), 100);
	write_file(path_of("a", 1, ".gz"), 1000);
	ck_assert_int_eq(storage_new(logs.path,
				     &(struct storage_limits){
					     .max_use = SIZE + 1000 + sizeof(manifest_text) - 1 },
				     NULL, &storage),
			 0);
	ck_assert(!has("a", 2, ".gz.part") && has("a", 2, ""));
	ck_assert(!has("a", 1, "") && has("a", 1, ".gz"));
	trace = add_trace("b", &(struct trace_config){ 0 });
	ck_assert_int_eq(trace_take(trace, 1, TRACE_ROOM_OLDEST), 0);
	ck_assert(!has("a", 2, "") || !has("a", 1, ".gz"));
	ck_assert(has("a", 2, "") || has("a", 1, ".gz"));
	end();
}
END_TEST

/* As recovery leaves a folder: the segments that it closed are taken up, compressed, and removed. */
START_TEST(takes_up_what_was_recovered)
{
	char path[PATH_MAX];
	const char *const recovered[] = { path, NULL };

	begin(0, 0);
	snprintf(path, sizeof(path), "%s/a/start", logs.path);
	trace = add_trace("a", &(struct trace_config){ 0 });
	write_manifest(trace, "a");
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	trace_free(trace);
	storage_free(storage);
	write_file(path_of("a", 2, ".part"), SIZE);
	ck_assert_int_eq(storage_new(logs.path, &(struct storage_limits){ .max_use = 3 * SIZE },
				     recovered, &storage),
			 0);
	/* Room is made, of what was closed before; the manifest is not ours yet. */
	trace = add_trace("b", &(struct trace_config){ 0 });
	ck_assert_int_eq(add_segment(trace, "b", 1), 0);
	ck_assert(!has("a", 1, "") && has("a", 2, ".part"));
	poll(NULL, 0, 50);
	ck_assert_str_eq(manifest_at("a", "/segments/0/state"), "closed");
	ck_assert_int_eq(renameat(logs.fd, "a/start/fs/fs_000002.csv.part", logs.fd,
				  "a/start/fs/fs_000002.csv"),
			 0);
	storage_recovered(storage, path, true);
	storage_recovered(storage, path, true); /* no longer one of them */
	wait_manifest("a", "/segments/0/state", "removed");
	wait_manifest("a", "/segments/1/state", "compressed");
	ck_assert(has("a", 2, ".gz") && !has("a", 2, ""));
	ck_assert_str_eq(manifest_at("a", "/streams/vfs/removed"), "15");
	ck_assert_int_eq(trace_take(trace, 2 * SIZE, TRACE_ROOM_OLDEST), 0);
	ck_assert(!has("a", 2, ".gz"));
	end();
}
END_TEST

/* Of another process: they count, and stay when all rows had to go. */
START_TEST(counts_files_of_others)
{
	struct trace *other;

	begin(2 * SIZE, 0);
	trace = add_trace("a", &(struct trace_config){ 0 });
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	ck_assert_int_eq(add_segment(trace, "a", 2), 0);
	write_file("a/start/snapshot", SIZE);
	trace_grown(trace, SIZE);
	for (int i = 0; i < 500 && used(trace) > 2 * SIZE; i++)
		poll(NULL, 0, 10);
	ck_assert(!has("a", 1, "") && has("a", 2, ""));
	trace_free(trace);
	other = add_trace("b", &(struct trace_config){ 0 });
	ck_assert_int_eq(add_segment(other, "b", 1), 0);
	ck_assert_int_eq(trace_take(other, SIZE + 1, TRACE_ROOM_OLDEST), -ENOSPC);
	ck_assert(!has("a", 2, "") && folder_has(&logs, "a/start/snapshot"));
	trace = other;
	end();
}
END_TEST

START_TEST(ends_at_once)
{
	struct timespec from, to;

	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .compress = true });
	for (unsigned int i = 1; i <= 200; i++)
		ck_assert_int_eq(add_segment(trace, "a", i), 0);
	trace_free(trace);
	trace = NULL;
	clock_gettime(CLOCK_MONOTONIC, &from);
	storage_free(storage);
	clock_gettime(CLOCK_MONOTONIC, &to);
	ck_assert_int_le(to.tv_sec - from.tv_sec, 10);
	for (unsigned int i = 1; i <= 200; i++) {
		ck_assert(has("a", i, "") != has("a", i, ".gz"));
		ck_assert(!has("a", i, ".gz.part"));
	}
	folder_end(&logs);
}
END_TEST

START_TEST(grants_everything_without_a_trace)
{
	ck_assert_int_eq(trace_take(NULL, UINT64_MAX, TRACE_ROOM_NONE), 0);
	ck_assert_uint_eq(trace_segment_limit(NULL), UINT64_MAX);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, removes_the_oldest_for_the_newest);
	tcase_add_test(tests, refuses_what_fits_nowhere);
	tcase_add_test(tests, removes_nothing_where_it_must_not);
	tcase_add_test(tests, keeps_so_many_segments);
	tcase_add_test(tests, takes_no_credit_for_what_others_removed);
	tcase_add_test(tests, compresses);
	tcase_add_test(tests, compresses_within_the_limit);
	tcase_add_test(tests, waits_where_there_is_no_room);
	tcase_add_test(tests, tells_the_manifest_of_an_ended_session);
	tcase_add_test(tests, tells_the_manifest_later);
	tcase_add_test(tests, tells_of_removals_soon);
	tcase_add_test(tests, ends_without_the_manifest);
	tcase_add_test(tests, holds_the_limit_over_all_sessions);
	tcase_add_test(tests, removes_emptied_folders_last);
	tcase_add_test(tests, trims_when_the_limit_falls);
	tcase_add_test(tests, does_not_grow_into_what_is_to_stay_free);
	tcase_add_test(tests, takes_up_what_is_there);
	tcase_add_test(tests, takes_up_what_was_recovered);
	tcase_add_test(tests, counts_files_of_others);
	tcase_add_test(tests, ends_at_once);
	tcase_add_test(tests, grants_everything_without_a_trace);
}

int main(void)
{
	return run_suite("storage", add);
}

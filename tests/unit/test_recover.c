// SPDX-License-Identifier: GPL-2.0-or-later
/* The folder of a killed daemon's session, before and after. */
#include "recover/recover.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <xxhash.h>
#include <zlib.h>

#include "events.h"
#include "folder.h"
#include "sha256_hex.h"
#include "suite.h"

#define TIME(second) "2026-11-21 12:24:" second ".000000000"
#define HEADER	     "timestamp,operation,mono_ns\n"
#define ROW(second)  TIME(#second) ",READ," #second "\n"
#define SHA	     "0000000000000000000000000000000000000000000000000000000000000000"
#define XXH	     "00000000000000000000000000000000"

/* A manifest of a session that runs, with segments and further members of its stream. */
#define MANIFEST(segments, counts)                                                                 \
	"{\"schema_version\":2,\"state\":\"running\",\"reason\":null,\"started\":\"" TIME("00")    \
	"\",\"mark\":7,\"streams\":{\"vfs\":{\"folder\":\"fs\",\"columns\":[{\"name\":\"timestamp\"}," \
	"{\"name\":\"operation\"},{\"name\":\"mono_ns\"}]" counts "}},\"segments\":[" segments "]}"

static struct folder folder;
static struct stat status;
static _Atomic bool cancel;
static bool retention;
static struct json_object *manifest;

static void begin(void)
{
	folder_begin(&folder);
	fstat(folder.fd, &status);
	ck_assert_int_eq(mkdirat(folder.fd, "fs", 0750), 0);
	cancel = false;
	retention = false;
}

static void end(void)
{
	json_object_put(manifest);
	manifest = NULL;
	folder_end(&folder);
}

static void put(const char *name, const char *text)
{
	int fd = openat(folder.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void put_gzip(const char *name, const char *text)
{
	char path[128];
	gzFile file;

	snprintf(path, sizeof(path), "%s/%s", folder.path, name);
	file = gzopen(path, "wb");
	ck_assert_int_eq(gzwrite(file, text, (unsigned int)strlen(text)), (int)strlen(text));
	gzclose(file);
}

static struct recover_config config_now(void)
{
	return (struct recover_config){
		.output = folder.path,
		.inode = status.st_ino,
		.session = "test",
		.streams = 1U << IOTR_VFS,
		.retention = retention,
		.cancel = &cancel,
	};
}

static int recover(void)
{
	struct recover_config config = config_now();
	int r = recover_folder(&config);
	char *text;

	if (r <= 0)
		return r;
	text = folder_read(&folder, "manifest.json", NULL);
	json_object_put(manifest);
	manifest = json_tokener_parse(text);
	free(text);
	ck_assert_ptr_nonnull(manifest);
	return r;
}

static void expect(const char *name, const char *text)
{
	char *there = folder_read(&folder, name, NULL);

	ck_assert_str_eq(there, text);
	free(there);
}

/* A value by its path: "segments/0/rows". */
static struct json_object *value(const char *path)
{
	struct json_object *found = NULL;
	char pointer[128];

	snprintf(pointer, sizeof(pointer), "/%s", path);
	json_pointer_get(manifest, pointer, &found);
	return found;
}

static void is_number(const char *path, uint64_t number)
{
	ck_assert_msg(value(path) && json_object_get_uint64(value(path)) == number, "%s in %s", path,
		      json_object_to_json_string(manifest));
}

static void is_text(const char *path, const char *text)
{
	ck_assert_msg(value(path) && !strcmp(json_object_get_string(value(path)), text), "%s in %s",
		      path, json_object_to_json_string(manifest));
}

static void is_checksum(const char *path, const char *text)
{
	XXH128_hash_t hash = XXH3_128bits(text, strlen(text));
	char sum[33];

	snprintf(sum, sizeof(sum), "%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
	is_text(path, sum);
}

static void is_sha256_of_file(const char *path, const char *name)
{
	char sum[SHA256_HEX_SIZE];
	struct sha256_ctx hash;
	size_t size;
	char *bytes = folder_read(&folder, name, &size);

	sha256_init(&hash);
	sha256_update(&hash, size, (const uint8_t *)bytes);
	sha256_hex(&hash, sum);
	free(bytes);
	is_text(path, sum);
}

START_TEST(cut_and_closed)
{
	put("manifest.json", MANIFEST("", ",\"lost\":{\"ring\":3,\"queue\":2},\"emitted\":9"));
	put("manifest.json.tmp", "{");
	put("fs/fs_000001.csv.part", HEADER ROW(10) ROW(12) ROW(11) TIME("13") ",\"RE\n");
	ck_assert_int_eq(recover(), 1);
	expect("fs/fs_000001.csv", HEADER ROW(10) ROW(12) ROW(11));
	ck_assert(!folder_has(&folder, "fs/fs_000001.csv.part"));
	ck_assert(!folder_has(&folder, "manifest.json.tmp"));
	is_text("state", "ended");
	is_text("reason", "crash");
	is_number("mark", 7); /* other members stay */
	is_text("segments/0/path", "fs/fs_000001.csv");
	is_text("segments/0/state", "closed");
	is_text("segments/0/stream", "vfs");
	is_number("segments/0/rows", 3);
	is_number("segments/0/bytes", strlen(HEADER ROW(10) ROW(12) ROW(11)));
	is_checksum("segments/0/xxh128", HEADER ROW(10) ROW(12) ROW(11));
	is_number("segments/0/recovered", 1);
	is_number("segments/0/first_mono_ns", 10);
	is_number("segments/0/last_mono_ns", 12);
	is_text("segments/0/last_time", TIME("12"));
	is_number("streams/vfs/written", 3);
	is_number("streams/vfs/emitted", 8);
	is_number("streams/vfs/received", 5);
	is_number("streams/vfs/emitted_unknown", 1);
	is_text("gaps/0/from", TIME("12"));
	is_text("gaps/0/reason", "crash");
	ck_assert_int_eq(recover(), 0); /* a second recovery finds nothing to do */
}
END_TEST

/* A quoted field may contain line ends, which do not end its row. */
START_TEST(quoted_lines)
{
	put("manifest.json", MANIFEST("", ""));
	put("fs/fs_000001.csv.part", HEADER TIME("10") ",\"a\nb\",10\n" TIME("11") ",\"a\nb\",1");
	ck_assert_int_eq(recover(), 1);
	expect("fs/fs_000001.csv", HEADER TIME("10") ",\"a\nb\",10\n");
	is_number("segments/0/rows", 1);
}
END_TEST

START_TEST(without_rows)
{
	put("manifest.json", MANIFEST("", ""));
	put("fs/fs_000001.csv.part", HEADER);
	put("fs/fs_000002.csv.part", "timestamp,oper");
	put("fs/fs_000003.csv.part", "");
	ck_assert_int_eq(recover(), 1);
	expect("fs/fs_000001.csv", HEADER);
	ck_assert_uint_eq(json_object_array_length(value("segments")), 1);
	is_number("segments/0/rows", 0);
	ck_assert(!folder_has(&folder, "fs/fs_000002.csv.part"));
	ck_assert(!folder_has(&folder, "fs/fs_000003.csv.part"));
	is_text("gaps/0/from", TIME("00")); /* since the session began */
}
END_TEST

START_TEST(json_lines)
{
#define OBJECT(second) "{\"timestamp\":\"" TIME(#second) "\",\"operation\":null,\"mono_ns\":" #second "}\n"
	put("manifest.json", MANIFEST("", ""));
	put("fs/fs_000001.jsonl.part", OBJECT(10) OBJECT(11) "{\"timest");
	put("fs/fs_000002.jsonl.part", "");
	ck_assert_int_eq(recover(), 1);
	expect("fs/fs_000001.jsonl", OBJECT(10) OBJECT(11));
	is_number("segments/0/rows", 2);
	is_number("segments/1/rows", 0);
}
END_TEST

/* Segments that a rotation had closed: those in the manifest are not read again, others are. */
START_TEST(closed_before)
{
	put("manifest.json",
	    MANIFEST("{\"stream\":\"vfs\",\"path\":\"fs/fs_000001.csv\",\"state\":\"closed\",\"rows\":77,"
		     "\"bytes\":57,\"xxh128\":\"" XXH "\",\"last_time\":\"" TIME("55") "\"},"
		     "{\"stream\":\"vfs\",\"path\":\"fs/fs_000002.csv\",\"state\":\"closed\",\"rows\":77,"
		     "\"bytes\":58,\"xxh128\":\"" XXH "\"},"
		     "{\"stream\":\"vfs\",\"path\":\"fs/fs_000003.csv.part\",\"state\":\"open\",\"rows\":0,"
		     "\"bytes\":28,\"xxh128\":null}", ""));
	_Static_assert(sizeof(HEADER) - 1 == 28, "see the manifest");
	put("fs/fs_000001.csv", HEADER "12345678901234567890123456789");
	put("fs/fs_000002.csv", HEADER ROW(10));
	put("fs/fs_000003.csv", HEADER ROW(11));
	put("fs/fs_000010.csv", HEADER ROW(12));
	ck_assert_int_eq(recover(), 1);
	ck_assert_uint_eq(json_object_array_length(value("segments")), 4);
	is_number("segments/0/rows", 77);
	ck_assert_ptr_null(value("segments/0/recovered"));
	is_number("segments/1/rows", 1); /* its size is not the one it had */
	is_number("segments/1/recovered", 1);
	is_number("segments/2/rows", 1);
	is_text("segments/2/path", "fs/fs_000003.csv");
	is_text("segments/3/path", "fs/fs_000010.csv");
	is_number("streams/vfs/written", 80);
	is_text("gaps/0/from", TIME("55"));
}
END_TEST

/* Killed while it compressed. */
START_TEST(compressed)
{
	put("manifest.json",
	    MANIFEST("{\"stream\":\"vfs\",\"path\":\"fs/fs_000002.csv\",\"state\":\"closed\",\"rows\":5,"
		     "\"bytes\":500,\"xxh128\":\"" XXH "\"}", ""));
	put("fs/fs_000001.csv", HEADER ROW(10));
	put("fs/fs_000001.csv.gz.part", "half");
	put_gzip("fs/fs_000002.csv.gz", HEADER ROW(11)); /* it is known: not read */
	put("fs/fs_000003.csv", HEADER ROW(12));
	put_gzip("fs/fs_000003.csv.gz", HEADER ROW(12));
	put_gzip("fs/fs_000004.csv.gz", HEADER ROW(13));
	ck_assert_int_eq(recover(), 1);
	ck_assert(!folder_has(&folder, "fs/fs_000001.csv.gz.part"));
	ck_assert(!folder_has(&folder, "fs/fs_000003.csv.gz"));
	is_text("segments/1/path", "fs/fs_000002.csv.gz");
	is_text("segments/1/state", "compressed");
	is_number("segments/1/rows", 5);
	is_sha256_of_file("segments/1/stored_sha256", "fs/fs_000002.csv.gz");
	is_text("segments/2/path", "fs/fs_000003.csv");
	ck_assert_ptr_null(value("segments/2/stored_sha256"));
	is_text("segments/3/path", "fs/fs_000004.csv.gz");
	is_number("segments/3/rows", 1);
	is_number("segments/3/bytes", strlen(HEADER ROW(13)));
	is_checksum("segments/3/xxh128", HEADER ROW(13));
	is_sha256_of_file("segments/3/stored_sha256", "fs/fs_000004.csv.gz");
}
END_TEST

/* The manifest knows of a .gz that a power failure took, before the text file went. */
START_TEST(not_compressed_after_all)
{
	put("manifest.json",
	    MANIFEST("{\"stream\":\"vfs\",\"path\":\"fs/fs_000001.csv.gz\",\"state\":\"compressed\",\"rows\":77,"
		     "\"bytes\":57,\"xxh128\":\"" XXH "\",\"stored_sha256\":\"" SHA "\"},"
		     "{\"stream\":\"vfs\",\"path\":\"fs/fs_000002.csv.gz\",\"state\":\"compressed\",\"rows\":77,"
		     "\"bytes\":57,\"xxh128\":\"" XXH "\",\"stored_sha256\":\"" SHA "\"}", ""));
	put("fs/fs_000001.csv", HEADER "12345678901234567890123456789");
	put_gzip("fs/fs_000002.csv.gz", HEADER ROW(11));
	ck_assert_int_eq(recover(), 1);
	is_text("segments/0/state", "closed");
	is_text("segments/0/xxh128", XXH);
	ck_assert_ptr_null(value("segments/0/stored_sha256"));
	is_text("segments/1/state", "compressed");
	is_text("segments/1/stored_sha256", SHA); /* what the manifest says is not made true by looking */
}
END_TEST

/* A daemon of the former version was killed: what it had closed keeps the SHA-256 of its text. */
START_TEST(former_version)
{
	put("manifest.json",
	    "{\"schema_version\":1,\"state\":\"running\",\"started\":\"" TIME("00") "\",\"streams\":{\"vfs\":"
	    "{\"folder\":\"fs\",\"columns\":[{\"name\":\"timestamp\"},{\"name\":\"operation\"},{\"name\":"
	    "\"mono_ns\"}]}},\"segments\":[{\"stream\":\"vfs\",\"path\":\"fs/fs_000001.csv\",\"state\":\"closed\","
	    "\"rows\":77,\"bytes\":57,\"sha256\":\"" SHA "\"},{\"stream\":\"vfs\",\"path\":\"fs/fs_000002.csv.part\","
	    "\"state\":\"open\",\"rows\":0,\"bytes\":28,\"sha256\":null}]}");
	put("fs/fs_000001.csv", HEADER "12345678901234567890123456789");
	put("fs/fs_000002.csv.part", HEADER ROW(11));
	ck_assert_int_eq(recover(), 1);
	is_number("schema_version", 3);
	is_number("segments/0/rows", 77);
	is_text("segments/0/sha256", SHA);
	ck_assert_ptr_null(value("segments/0/xxh128"));
	is_number("segments/1/rows", 1);
	is_checksum("segments/1/xxh128", HEADER ROW(11));
	ck_assert_ptr_null(value("segments/1/sha256"));
}
END_TEST

/* Segments that retention removed leave the list; others that are missing stay in it, so that verify reports them. */
START_TEST(missing)
{
	put("manifest.json",
	    MANIFEST("{\"stream\":\"vfs\",\"path\":\"fs/fs_000001.csv\",\"state\":\"removed\",\"rows\":5},"
		     "{\"stream\":\"vfs\",\"path\":\"fs/fs_000002.csv\",\"state\":\"closed\",\"rows\":6}",
		     ",\"removed\":5"));
	put("fs/fs_000003.csv.part", HEADER ROW(12));
	ck_assert_int_eq(recover(), 1);
	ck_assert_uint_eq(json_object_array_length(value("segments")), 3);
	is_text("segments/0/state", "removed");
	is_text("segments/1/state", "closed");
	is_number("streams/vfs/written", 5 + 6 + 1);
	is_number("streams/vfs/removed", 5);
}
END_TEST

/* Killed between a removal and the manifest that would have told of it. */
START_TEST(removed_unsaid)
{
	retention = true;
	put("manifest.json",
	    MANIFEST("{\"stream\":\"vfs\",\"path\":\"fs/fs_000001.csv\",\"state\":\"closed\",\"rows\":5},"
		     "{\"stream\":\"vfs\",\"path\":\"fs/fs_000003.csv\",\"state\":\"closed\",\"rows\":6}",
		     ",\"removed\":7"));
	put("fs/fs_000002.csv", HEADER ROW(11));
	put("fs/fs_000004.csv.part", HEADER ROW(12));
	ck_assert_int_eq(recover(), 1);
	is_text("segments/0/state", "removed");
	is_text("segments/1/state", "closed"); /* not the oldest: it is missing */
	is_number("streams/vfs/removed", 12);
	is_number("streams/vfs/written", 12 + 6 + 2);
}
END_TEST

/* The same where the stream had no other segment. */
START_TEST(all_removed_unsaid)
{
	retention = true;
	put("manifest.json",
	    MANIFEST("{\"stream\":\"vfs\",\"path\":\"fs/fs_000001.csv.gz\",\"state\":\"compressed\",\"rows\":5,"
		     "\"stored_sha256\":\"" SHA "\"}",
		     ",\"removed\":0"));
	ck_assert_int_eq(recover(), 1);
	is_text("segments/0/state", "removed");
	ck_assert_ptr_null(value("segments/0/stored_sha256"));
	is_number("streams/vfs/removed", 5);
	is_number("streams/vfs/written", 5);
}
END_TEST

/* What marks say was removed is no longer missing: with what it held, whatever the manifest knew, and to which limit. */
START_TEST(removed_and_marked)
{
	put("manifest.json",
	    MANIFEST("{\"stream\":\"vfs\",\"path\":\"fs/fs_000001.csv\",\"state\":\"closed\",\"rows\":5,\"bytes\":50},"
		     "{\"stream\":\"vfs\",\"path\":\"fs/fs_000002.csv.part\",\"state\":\"open\",\"rows\":2,\"bytes\":20}",
		     ",\"removed\":7"));
	put("fs/.fs_000001.csv.5.50.keep_size", "");
	put("fs/.fs_000002.csv.9.90.keep_size", "");
	put("fs/.fs_000003.csv.4.40.max_use", "");   /* closed and removed behind the manifest's back */
	put("fs/.fs_000004.csv.1.57.keep_size", ""); /* killed before it went */
	put("fs/fs_000004.csv", HEADER ROW(11));
	put("fs/fs_000005.csv.part", HEADER ROW(12));
	ck_assert_int_eq(recover(), 1);
	ck_assert_uint_eq(json_object_array_length(value("segments")), 3);
	is_text("segments/0/state", "removed");
	is_text("segments/0/removed_by", "keep_size");
	is_number("streams/vfs/removed", 7 + 5 + 9 + 4);
	is_number("streams/vfs/removed_by/keep_size/rows", 5 + 9);
	is_number("streams/vfs/removed_by/keep_size/segments", 2);
	is_number("streams/vfs/removed_by/max_use/rows", 4);
	is_number("streams/vfs/written", 7 + 5 + 9 + 4 + 2);
	ck_assert(!folder_has(&folder, "fs/.fs_000001.csv.5.50.keep_size"));
	ck_assert(!folder_has(&folder, "fs/.fs_000004.csv.1.57.keep_size"));
}
END_TEST

/* A stream's folder that was replaced is not read, and its segments stay in the list as missing. */
START_TEST(foreign_stream)
{
	put("manifest.json",
	    MANIFEST("{\"stream\":\"vfs\",\"path\":\"fs/fs_000001.csv.part\",\"state\":\"open\",\"rows\":0}",
		     ""));
	put("fs/fs_000001.csv.part", HEADER ROW(12));
	ck_assert_int_eq(fchmodat(folder.fd, "fs", 0777, 0), 0);
	ck_assert_int_eq(recover(), 1);
	ck_assert(folder_has(&folder, "fs/fs_000001.csv.part"));
	is_text("segments/0/state", "open");
}
END_TEST

/* A line between rows that is no row is kept. */
START_TEST(not_cut)
{
	put("manifest.json", MANIFEST("", ""));
	put("fs/fs_000001.csv.part", HEADER ROW(10) "rubbish\n" ROW(11));
	put("fs/fs_000002.csv.part", "other,columns\n1,2\n3,4");
	ck_assert_int_eq(recover(), 1);
	expect("fs/fs_000001.csv", HEADER ROW(10) "rubbish\n" ROW(11));
	expect("fs/fs_000002.csv.part", "other,columns\n1,2\n3,4");
	is_number("segments/0/rows", 3);
	is_text("segments/1/state", "open"); /* verify reports it */
}
END_TEST

START_TEST(strangers)
{
	static const char *const names[] = { "fs/notes.csv", "fs/ds_000001.csv", "fs/fs_x.csv",
					     "fs/fs_.csv", "fs/fs_000001.txt", "fs/x.gz.part" };

	put("manifest.json", MANIFEST("", ""));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		put(names[i], "mine");
	ck_assert_int_eq(recover(), 1);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		expect(names[i], "mine");
	ck_assert_uint_eq(json_object_array_length(value("segments")), 0);
}
END_TEST

START_TEST(no_manifest)
{
	put("manifest.json", "{\"state\":\"runn");
	ck_assert_int_eq(recover(), 1);
	is_text("session", "test");
	is_text("state", "ended");
	is_number("streams/vfs/written", 0);
	is_number("streams/vfs/lost/ring", 0);
}
END_TEST

/* A manifest that cannot be read now may be good, and a new one would have less: nothing is changed. */
START_TEST(manifest_not_read)
{
	put("manifest.json", MANIFEST("", ""));
	put("fs/fs_000001.csv.part", HEADER ROW(10));
	ck_assert_int_eq(linkat(folder.fd, "manifest.json", folder.fd, "copy", 0), 0);
	ck_assert_int_eq(recover(), -EPERM);
	ck_assert(folder_has(&folder, "fs/fs_000001.csv.part"));
	expect("manifest.json", MANIFEST("", ""));
}
END_TEST

START_TEST(cancelled)
{
	put("manifest.json", MANIFEST("", ""));
	put("fs/fs_000001.csv.part", HEADER ROW(10));
	cancel = true;
	ck_assert_int_eq(recover(), -ECANCELED);
	ck_assert(folder_has(&folder, "fs/fs_000001.csv.part"));
	expect("manifest.json", MANIFEST("", ""));
}
END_TEST

START_TEST(another_folder)
{
	put("manifest.json", MANIFEST("", ""));
	status.st_ino++;
	ck_assert_int_eq(recover(), -ESTALE);
	expect("manifest.json", MANIFEST("", ""));
}
END_TEST

/* A link where a folder was is not followed, neither at the end of the path nor above it. */
START_TEST(not_through_links)
{
	char link[256], below[512];
	struct recover_config config = config_now();

	put("manifest.json", MANIFEST("", ""));
	snprintf(link, sizeof(link), "%s-link", folder.path);
	ck_assert_int_eq(symlink(folder.path, link), 0);
	config.output = link;
	ck_assert_int_eq(recover_folder(&config), -ENOTDIR);
	snprintf(below, sizeof(below), "%s/fs", link);
	config.output = below;
	ck_assert_int_eq(recover_folder(&config), -ENOTDIR);
	ck_assert_int_eq(recover_remove_empty(below), -ENOTDIR);
	ck_assert(folder_has(&folder, "fs"));
	ck_assert_int_eq(unlink(link), 0);
	expect("manifest.json", MANIFEST("", ""));
}
END_TEST

static void expect_extent(uint64_t rows, uint64_t bytes)
{
	struct recover_config config = config_now();
	struct recover_extent extent;

	ck_assert_int_eq(recover_extent(&config, &extent), 0);
	ck_assert_uint_eq(extent.rows, rows);
	ck_assert_uint_eq(extent.bytes, bytes);
}

/* Rows and bytes of listed segments, of removed ones, and of the session before it went on. */
START_TEST(extent)
{
	struct recover_config config = config_now();
	struct recover_extent none;

	put("manifest.json",
	    MANIFEST("{\"stream\":\"vfs\",\"path\":\"fs/fs_000002.csv\",\"state\":\"removed\",\"rows\":6,\"bytes\":600},"
		     "{\"stream\":\"vfs\",\"path\":\"fs/fs_000003.csv.part\",\"state\":\"open\",\"rows\":0,\"bytes\":28,"
		     "\"xxh128\":null}",
		     ",\"removed\":11,\"bytes\":1128"));
	put("fs/fs_000003.csv.part", HEADER ROW(11) ROW(12));
	ck_assert_int_eq(recover_extent(&config, &none), -ENODATA); /* it has not ended */
	ck_assert_int_eq(recover(), 1);
	expect_extent(11 + 2, 500 + 600 + strlen(HEADER ROW(11) ROW(12)));
	put("manifest.json", "{\"state\":\"ended\",\"definition\":{\"before\":{\"rows\":100,\"bytes\":5000}},"
			     "\"streams\":{\"vfs\":{\"written\":7,\"bytes\":70},\"net\":{\"written\":1,\"bytes\":9}}}");
	expect_extent(108, 5079);
	put("manifest.json", "{}");
	ck_assert_int_eq(recover_extent(&config, &none), -ENODATA);
	status.st_ino++;
	config = config_now();
	ck_assert_int_eq(recover_extent(&config, &none), -ESTALE);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, cut_and_closed);
	tcase_add_test(tests, quoted_lines);
	tcase_add_test(tests, without_rows);
	tcase_add_test(tests, json_lines);
	tcase_add_test(tests, closed_before);
	tcase_add_test(tests, compressed);
	tcase_add_test(tests, not_compressed_after_all);
	tcase_add_test(tests, former_version);
	tcase_add_test(tests, missing);
	tcase_add_test(tests, removed_unsaid);
	tcase_add_test(tests, all_removed_unsaid);
	tcase_add_test(tests, removed_and_marked);
	tcase_add_test(tests, foreign_stream);
	tcase_add_test(tests, not_cut);
	tcase_add_test(tests, strangers);
	tcase_add_test(tests, no_manifest);
	tcase_add_test(tests, manifest_not_read);
	tcase_add_test(tests, cancelled);
	tcase_add_test(tests, another_folder);
	tcase_add_test(tests, not_through_links);
	tcase_add_test(tests, extent);
}

int main(void)
{
	return run_suite("recover", add);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/config.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "cleanup.h"
#include "protocol.h"
#include "config/settings.def"
#include "suite.h"

static char folder[64], path[128];

static void write_file(const char *name, const char *text)
{
	char file[256];
	FILE *stream;

	snprintf(file, sizeof(file), "%s%s", path, name);
	stream = fopen(file, "w");
	ck_assert_ptr_nonnull(stream);
	fputs(text, stream);
	fclose(stream);
	chmod(file, 0600); /* whatever the umask is */
}

static void set_up(void)
{
	char drop_ins[256];

	strcpy(folder, "/tmp/iotracer-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/conf", folder);
	snprintf(drop_ins, sizeof(drop_ins), "%s.d", path);
	mkdir(drop_ins, 0755);
}

static void remove_file(const char *name)
{
	char file[256];

	snprintf(file, sizeof(file), "%s%s", path, name);
	if (unlink(file) < 0)
		rmdir(file);
}

static void tear_down(void)
{
	static const char *const names[] = { ".d/10.conf", ".d/20.conf", ".d/30.txt", ".d", "" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		remove_file(names[i]);
	rmdir(folder);
}

/* Loads the configuration; warnings on stderr are stored in `said`. */
static int load(struct config *config, char *said, size_t size)
{
	_cleanup_fclose_ FILE *caught = tmpfile();
	int saved = dup(STDERR_FILENO), r;

	dup2(fileno(caught), STDERR_FILENO);
	r = config_load(path, true, config);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(caught);
	said[fread(said, 1, size - 1, caught)] = '\0';
	return r;
}

#define SHOWN(section, key, parse, field, when, shown, doc) { "[" #section "]\n" #key "=", shown },

/* What manual page and installed file say that holds by default is what does. */
START_TEST(shows_defaults)
{
	static const char *const rows[][2] = { IOTR_SETTINGS(SHOWN) };
	struct config config, defaults;
	char text[2048] = "", said[1024];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (*rows[i][1])
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s\n", rows[i][0], rows[i][1]);
	ck_assert_int_eq(config_load(path, false, &defaults), 0);
	write_file("", text);
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	ck_assert_str_eq(said, "");
	ck_assert_mem_eq(&config, &defaults, sizeof(config));
}
END_TEST

static void collect(enum config_finding finding, const char *sentence, void *userdata)
{
	ck_assert_int_eq(finding, CONFIG_LATER);
	strcat(strcat(userdata, sentence), "\n");
}

/* Of what has changed, that which a start alone takes up. */
START_TEST(tells_what_waits)
{
	static struct config in_force, fresh;
	char said[1024] = "";

	write_file("", "[Daemon]\nResume=yes\n");
	ck_assert_int_eq(config_load(path, true, &in_force), 0);
	config_tell_later(&in_force, &in_force, collect, said);
	ck_assert_str_eq(said, "");
	write_file("", "[Daemon]\nResume=no\nLogDirectory=/srv/a\nLogLevel=debug\n[Buffers]\nRingSize=1M\nQueueSize=1M\n");
	ck_assert_int_eq(config_load(path, true, &fresh), 0);
	config_tell_later(&in_force, &fresh, collect, said);
	ck_assert_str_eq(said, "[Daemon] LogDirectory has changed, and is taken up when the daemon starts next\n"
			       "[Daemon] Resume has changed, and is taken up when the daemon starts next\n"
			       "[Buffers] RingSize has changed, and is taken up when the daemon starts next\n");
	write_file("", "[Daemon]\nLogDirectory=/srv/abc\nLogDirectory=/srv/a\nResume=no\n[Buffers]\nRingSize=1M\n");
	ck_assert_int_eq(config_load(path, true, &in_force), 0);
	*said = '\0';
	config_tell_later(&in_force, &fresh, collect, said);
	ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(knows_defaults)
{
	struct config config;

	ck_assert_int_eq(config_load(path, false, &config), 0);
	ck_assert_int_eq(config.log_level, LOG_INFO);
	ck_assert_str_eq(config.runtime_dir, "/run/iotracer");
	ck_assert_str_eq(config.log_dir, "/var/log/iotracer");
	ck_assert_str_eq(config.state_dir, "/var/lib/iotracer");
	ck_assert(config.resume);
	ck_assert_uint_eq(iotr_share_of(&config.max_use, 1ULL << 40), 0);
	ck_assert_uint_eq(iotr_share_of(&config.keep_free, 1ULL << 40), 1ULL << 30);
	ck_assert_uint_eq(iotr_share_of(&config.keep_free, 1000), 50);
	ck_assert_int_eq(config_load(path, true, &config), -ENOENT);
}
END_TEST

START_TEST(reads_ini)
{
	struct config config;
	char said[4096];

	write_file("", "# comment\n; comment\n\n[Daemon]\n  LogLevel = debug  \n"
		       "LogDirectory=/a\\\n\nStateDirectory=/old\nStateDirectory=/b\n"
		       "RuntimeDirectory=/c\nRuntimeDirectory=\nResume=No\n[X-Mine]\nAny=thing");
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	ck_assert_str_eq(said, "");
	ck_assert_int_eq(config.log_level, LOG_DEBUG);
	ck_assert_str_eq(config.log_dir, "/a");
	ck_assert_str_eq(config.state_dir, "/b");
	ck_assert_str_eq(config.runtime_dir, "/run/iotracer");
	ck_assert(!config.resume);
}
END_TEST

START_TEST(reads_limits_of_storage)
{
	struct config config;
	char said[4096];

	write_file("", "[Storage]\nMaxUse=10%\nKeepFree=0\n");
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	ck_assert_str_eq(said, "");
	ck_assert_uint_eq(iotr_share_of(&config.max_use, 1000), 100);
	ck_assert_uint_eq(iotr_share_of(&config.keep_free, 1000), 0);
	write_file("", "[Storage]\nMaxUse=2G\nKeepFree=64M\nKeepFree=infinity\nMaxUse=1x\n"
		       "KeepFree=101%\n");
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	ck_assert_uint_eq(config.max_use.bytes, 2ULL << 30);
	ck_assert_uint_eq(config.keep_free.bytes, 64 << 20);
	ck_assert_ptr_nonnull(strstr(said, "KeepFree=infinity: then nothing could be written"));
	ck_assert_ptr_nonnull(strstr(said, "MaxUse=1x: it is no size (10G), percentage (10%)"));
	ck_assert_ptr_nonnull(strstr(said, "KeepFree=101%: it is out of range"));
	write_file("", "[Storage]\nMaxUse=2G\nMaxUse=infinity\n");
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	ck_assert_uint_eq(iotr_share_of(&config.max_use, 1000), 0);
}
END_TEST

START_TEST(reads_sizes_of_buffers)
{
	static const char *const wrong[][2] = {
		{ "RingSize=24M", "it is no power of two from 1M to 1G" },
		{ "RingSize=512K", "it is no power of two from 1M to 1G" },
		{ "RingSize=2G", "it is no power of two from 1M to 1G" },
		{ "RingSize=much", "it is no size, as 16M" },
		{ "QueueSize=1023K", "it is not from 1M to 256M" },
		{ "QueueSize=257M", "it is not from 1M to 256M" },
		{ "QueueSize=10%", "it is no size, as 128M" },
	};
	char said[4096], text[256];
	struct config config;

	write_file("", "[Buffers]\nRingSize=1G\nQueueSize=256M\n");
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	ck_assert_str_eq(said, "");
	ck_assert_uint_eq(config.ring_size, 1ULL << 30);
	ck_assert_uint_eq(config.queue_size, 256ULL << 20);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text), "[Buffers]\n%s\n", wrong[i][0]);
		write_file("", text);
		ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
		snprintf(text, sizeof(text), "%s:2: %s: %s", path, wrong[i][0], wrong[i][1]);
		ck_assert_msg(strstr(said, text), "%s, not: %s", said, text);
		ck_assert_uint_eq(config.ring_size, 0);
		ck_assert_uint_eq(config.queue_size, 128ULL << 20);
	}
}
END_TEST

START_TEST(drop_ins_come_later_in_order)
{
	struct config config;
	char said[4096];

	write_file("", "[Daemon]\nLogLevel=error\nLogDirectory=/main\n");
	write_file(".d/20.conf", "[Daemon]\nLogLevel=notice\n");
	write_file(".d/10.conf", "[Daemon]\nLogLevel=debug\nStateDirectory=/ten\n");
	write_file(".d/30.txt", "[Daemon]\nLogLevel=debug\n");
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	ck_assert_int_eq(config.log_level, LOG_NOTICE);
	ck_assert_str_eq(config.log_dir, "/main");
	ck_assert_str_eq(config.state_dir, "/ten");
}
END_TEST

START_TEST(reads_snapshots)
{
	struct config config;
	char said[4096];

	write_file("", "[Snapshots]\nSystem=off\nProcess=90s\nFilesystem=off\nRoot=/srv\nDepth=0\nCountry=CH\n");
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	ck_assert_str_eq(said, "");
	ck_assert(!config.snapshots.system);
	ck_assert_uint_eq(config.snapshots.process_ns, 90000000000);
	ck_assert_uint_eq(config.snapshots.filesystem_ns, 0);
	ck_assert_str_eq(config.snapshots.root, "/srv");
	ck_assert_uint_eq(config.snapshots.depth, 0);
	ck_assert_str_eq(config.country, "CH");
}
END_TEST

#define CONTAINER "0b6f9a1c2d3e4f50617283949a0b1c2d3e4f50617283949a0b1c2d3e4f506172"

/* Rules of one system may stand in several sections and files; an empty value removes those of its key. */
START_TEST(reads_systems)
{
	static const struct system_identity stored = { .executable = "/opt/bin/stored" }, late = { .unit = "late.service" },
					    gone = { .command = "gone" }, boxed = { .container_id = CONTAINER };
	struct config config;
	char said[4096];

	write_file("", "[System My store]\nExecutable=/opt/bin/stored\nCommand=gone\nContainer=" CONTAINER
		       "\n[Amplification]\nCounting=yes\n[System Other]\nCgroup=/a/b\n");
	write_file(".d/10.conf", "[System My store]\nUnit=late.service\nCommand=\n");
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	ck_assert_str_eq(said, "");
	ck_assert(config.counting);
	ck_assert_str_eq(system_rules_find(&config.systems, &stored), "My store");
	ck_assert_str_eq(system_rules_find(&config.systems, &late), "My store");
	ck_assert_str_eq(system_rules_find(&config.systems, &boxed), "My store");
	ck_assert_str_eq(system_rules_find(&config.systems, &(struct system_identity){ .cgroup = "/a/b/c" }), "Other");
	ck_assert_ptr_null(system_rules_find(&config.systems, &gone));
}
END_TEST

/* Each has a warning with its line, and adds no rule. */
static const char *const bad_systems[] = {
	"[System ]\nCommand=a\n",
	"[System a,b]\nCommand=a\n",
	"[System 0123456789abcdef0123456789abcdef]\nCommand=a\n",
	"[System a]\nProgram=a\n",
	"[System a]\nExecutable=bin/a\n",
	"[System a]\nExecutable=/bin/\n",
	"[System a]\nCommand=0123456789abcdef\n",
	"[System a]\nUnit=a\n",
	"[System a]\nUnit=a b.service\n",
	"[System a]\nCgroup=a\n",
	"[System a]\nContainer=0b6f9a1c2d3e\n",
};

START_TEST(names_bad_systems)
{
	struct config config;
	char said[4096];

	write_file("", bad_systems[_i]);
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	ck_assert_msg(strstr(said, _i < 3 ? ":1:" : ":2:") != NULL, "%s: '%s'", bad_systems[_i], said);
	ck_assert_uint_eq(config.systems.count, 0);
}
END_TEST

START_TEST(limits_rules_of_systems)
{
	char said[4096], text[8192] = "[System a]\n";
	struct config config;

	for (int i = 0; i <= SYSTEM_RULES_MAX; i++)
		snprintf(text + strlen(text), 32, "Command=c%d\n", i);
	write_file("", text);
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	ck_assert_uint_eq(config.systems.count, SYSTEM_RULES_MAX);
	ck_assert_ptr_nonnull(strstr(said, ":130: Command=c128: there are 128 rules for systems already"));
}
END_TEST

static const char *const bad_snapshots[] = {
	"System=maybe", "Process=1ms",	  "Process=often", "Filesystem=0", "Depth=65536", "Depth=-1",
	"Country=Chile", "Country=c1",	  "Root=srv",
};

/* Each bad value has a warning, and the default stays. */
START_TEST(names_bad_snapshots)
{
	struct config config, usual;
	char said[4096], text[128];

	write_file("", "");
	ck_assert_int_eq(load(&usual, said, sizeof(said)), 0);
	snprintf(text, sizeof(text), "[Snapshots]\n%s\n", bad_snapshots[_i]);
	write_file("", text);
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	ck_assert_msg(strstr(said, ":2:") != NULL, "%s: '%s'", text, said);
	ck_assert_mem_eq(&config, &usual, sizeof(config));
	ck_assert_uint_eq(config.snapshots.process_ns, 300000000000);
	ck_assert_uint_eq(config.snapshots.filesystem_ns, 3600000000000);
	ck_assert_uint_eq(config.snapshots.depth, 3);
	ck_assert(config.snapshots.system);
}
END_TEST

/* A bad line has a warning and is ignored; the lines around it apply. */
static const struct {
	const char *line;
	const char *place;
} bad[] = {
	{ "LogLevel=loud\n", ":4:" },
	{ "Resume=maybe\n", ":4:" },
	{ "LogDirectory=relative\n", ":4:" },
	{ "Nonsense\n", ":4:" },
	{ "LogLvl=debug\n", ":4:" },
	{ "[Daemon\n", ":4:" },
	{ "[Demon]\nLogLevel=error\n", ":4:" },
	{ "=x\n", ":4:" },
	{ "[\n", ":4:" },
};

START_TEST(names_bad_lines)
{
	char text[512], place[256], said[4096];
	struct config config;

	snprintf(text, sizeof(text),
		 "[Daemon]\nLogDirectory=/before\n\n%s[Daemon]\nStateDirectory=/after\n",
		 bad[_i].line);
	write_file("", text);
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	snprintf(place, sizeof(place), "%s%s", path, bad[_i].place);
	ck_assert_msg(strstr(said, place) != NULL, "%s", said);
	ck_assert_int_eq(config.log_level, LOG_INFO);
	ck_assert_str_eq(config.log_dir, "/before");
	ck_assert_str_eq(config.state_dir, "/after");
}
END_TEST

/* The machine crashed before the file was on the disk: its settings are not the defaults without a word. */
START_TEST(tells_of_nul_bytes)
{
	struct config config;
	char said[4096];

	write_file("", "[Daemon]\nResume=no\n");
	ck_assert_int_eq(truncate(path, 100), 0);
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	ck_assert_msg(strstr(said, ":3: it has a NUL byte"), "%s", said);
	ck_assert(!config.resume);
}
END_TEST

START_TEST(survives_garbage)
{
	struct config config;
	char said[65536], text[60000];

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = (char)(1 + i * 7919 % 255);
	text[sizeof(text) - 1] = '\0';
	write_file("", text);
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	ck_assert_int_eq(config.log_level, LOG_INFO);
}
END_TEST

START_TEST(refuses_a_folder)
{
	struct config config;

	snprintf(path, sizeof(path), "%s", folder);
	ck_assert_int_lt(config_load(path, true, &config), 0);
	snprintf(path, sizeof(path), "%s/conf", folder);
}
END_TEST

/* A FIFO is refused: opening one without O_NONBLOCK would wait for a writer until the time limit. */
static void refuses(const char *why)
{
	struct config config;
	char said[4096];

	alarm(5);
	ck_assert_int_eq(load(&config, said, sizeof(said)), -EPERM);
	alarm(0);
	ck_assert_msg(strstr(said, path) && strstr(said, why), "%s", said);
}

START_TEST(refuses_what_is_no_file)
{
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	refuses("no regular file");
	unlink(path);
	ck_assert_int_eq(symlink("/dev/zero", path), 0);
	refuses("no regular file");
}
END_TEST

START_TEST(refuses_what_others_write)
{
	write_file("", "[Daemon]\nLogLevel=debug\n");
	for (mode_t bit = 020; bit; bit = bit == 020 ? 002 : 0) {
		chmod(path, 0600 | bit);
		refuses("others than its owner may write it");
	}
	chmod(path, 0600);
	if (geteuid())
		return;
	ck_assert_int_eq(chown(path, 65534, (gid_t)-1), 0);
	refuses("belongs neither to root");
}
END_TEST

START_TEST(refuses_what_has_no_end)
{
	struct config config;
	char said[4096];

	write_file("", "[Daemon]\n");
	ck_assert_int_eq(truncate(path, 64 * 1024), 0);
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	ck_assert_int_eq(truncate(path, 64 * 1024 + 1), 0);
	refuses("larger than 64 KiB");
}
END_TEST

/* A drop-in that is refused is ignored; the others apply. */
START_TEST(refuses_drop_ins)
{
	struct config config;
	char said[4096], file[256];

	write_file("", "[Daemon]\n");
	write_file(".d/10.conf", "[Daemon]\nLogLevel=debug\n");
	write_file(".d/20.conf", "[Daemon]\nLogDirectory=/second\n");
	snprintf(file, sizeof(file), "%s.d/10.conf", path);
	chmod(file, 0646);
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	ck_assert_int_eq(config.log_level, LOG_INFO);
	ck_assert_str_eq(config.log_dir, "/second");
	ck_assert_msg(strstr(said, file) && strstr(said, "ignored"), "%s", said);
	unlink(file);
	ck_assert_int_eq(mkfifo(file, 0600), 0);
	alarm(5);
	ck_assert_int_eq(load(&config, said, sizeof(said)), 0);
	alarm(0);
	ck_assert_str_eq(config.log_dir, "/second");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, shows_defaults);
	tcase_add_test(tests, tells_what_waits);
	tcase_add_test(tests, knows_defaults);
	tcase_add_test(tests, reads_ini);
	tcase_add_test(tests, reads_limits_of_storage);
	tcase_add_test(tests, reads_sizes_of_buffers);
	tcase_add_test(tests, drop_ins_come_later_in_order);
	tcase_add_test(tests, reads_snapshots);
	tcase_add_loop_test(tests, names_bad_snapshots, 0,
			    sizeof(bad_snapshots) / sizeof(bad_snapshots[0]));
	tcase_add_test(tests, reads_systems);
	tcase_add_loop_test(tests, names_bad_systems, 0, sizeof(bad_systems) / sizeof(bad_systems[0]));
	tcase_add_test(tests, limits_rules_of_systems);
	tcase_add_loop_test(tests, names_bad_lines, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(tests, survives_garbage);
	tcase_add_test(tests, tells_of_nul_bytes);
	tcase_add_test(tests, refuses_a_folder);
	tcase_add_test(tests, refuses_what_is_no_file);
	tcase_add_test(tests, refuses_what_others_write);
	tcase_add_test(tests, refuses_what_has_no_end);
	tcase_add_test(tests, refuses_drop_ins);
}

int main(void)
{
	return run_suite("config", add);
}

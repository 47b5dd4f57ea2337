// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows from a ring to CSV files on disk, through consumer, router, queues and writers as they are,
 * as fast as they go without a loss. All sessions want every row.
 *
 *   bench_pipeline [--rows N] [--sessions N] [--format csv|jsonl] [--folder DIR] [--keep]
 *
 * Prints one line of names and figures. Rows are counted once for each session. `rate` is what came
 * to the files in a second, in the middle of the run; `closed` counts until files are closed
 * and told of by manifests. `consumer` and `writers` are CPU nanoseconds a row. The wall clock of
 * timestamps stands still, so that the files of two runs are the same, byte for byte; --keep leaves
 * them in DIR/bench_pipeline.
 */
#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench_ring.h"
#include "bench_rows.h"
#include "clocks.h"
#include "consumer.h"
#include "pipeline.h"

enum {
	RING_SIZE = 32 << 20, /* as on a machine with 8 CPUs */
	NAMES_SIZE = 8 << 20,
	KNOWN = 1 << 16,
	UNDER_WAY = 50000, /* rows that a queue has room for */
	POLL_NS = 200000,
	SESSIONS_MAX = 64,
};

static uint64_t events = 2000000; /* rows of a session */
static unsigned int session_count = 1;
static enum iotr_format format = IOTR_FORMAT_CSV;
static const char *parent = "/var/tmp";
static int keep;

static char folder[512];
static struct bench_ring rows, names;
static uint64_t known[KNOWN];
static struct consumer *consumer;
static struct writer *writers[SESSIONS_MAX];

static void die(const char *what, int error)
{
	fprintf(stderr, "bench_pipeline: %s: %s\n", what, strerror(-error));
	exit(1);
}

/* The offset of the wall clock is the same in every run. */
struct clocks_span __wrap_clocks_at(uint64_t mono_ns);
struct clocks_span __wrap_clocks_at(uint64_t mono_ns)
{
	(void)mono_ns;
	return (struct clocks_span){ 0, UINT64_MAX, 1700000000123456789 };
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void add_name(void *userdata, const struct iotr_name_record *record, uint32_t size)
{
	(void)userdata;
	memcpy(bench_ring_add(&names, size), record, size);
}

static void fill_rings(void)
{
	uint64_t mask = session_count == SESSIONS_MAX ? ~0ULL : (1ULL << session_count) - 1;
	struct iotr_vfs_record *record;

	bench_ring_new(&names, NAMES_SIZE);
	rows_names(add_name, NULL);
	bench_ring_publish(&names);
	bench_ring_new(&rows, RING_SIZE);
	for (uint64_t number = 0; (record = bench_ring_add(&rows, sizeof(*record))); number++)
		rows_make(record, number, mask);
}

static void start_session(unsigned int number)
{
	char output[sizeof(folder) + 16], message[1024];
	struct writer_config config = { .output = output, .streams = 1 << IOTR_VFS, .format = format };
	int error;

	snprintf(output, sizeof(output), "%s/%02u", folder, number);
	config.output_fd = output_create(output, NULL, message, sizeof(message));
	if (config.output_fd < 0)
		die(message, config.output_fd);
	error = writer_new(&config, &writers[number]) ?:
		router_attach(consumer_router(consumer), number, writers[number]);
	close(config.output_fd);
	if (error < 0)
		die(output, error);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status, (void)type, (void)where;
	return remove(path);
}

static void start(void)
{
	struct consumer_config config = { .rings = &rows.fd, .ring_count = 1, .names = names.fd,
					  .known = known, .known_count = KNOWN };
	int error;

	snprintf(folder, sizeof(folder), "%s/bench_pipeline", parent);
	nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	if (mkdir(folder, 0700) < 0)
		die(folder, -errno);
	error = consumer_new(&config, &consumer);
	if (error < 0)
		die("consumer", error);
	for (unsigned int i = 0; i < session_count; i++)
		start_session(i);
	consumer_run(consumer, true);
}

struct progress {
	uint64_t least; /* rows done with by the slowest session */
	uint64_t written, lost, bytes;
};

static struct progress look(void)
{
	struct progress progress = { .least = UINT64_MAX };

	for (unsigned int i = 0; i < session_count; i++) {
		struct writer_counts counts;
		uint64_t lost;

		writer_counts(writers[i], IOTR_VFS, &counts);
		lost = counts.lost_queue + counts.lost_disk;
		progress.written += counts.written;
		progress.bytes += counts.bytes;
		progress.lost += lost;
		if (counts.written + lost < progress.least)
			progress.least = counts.written + lost;
	}
	return progress;
}

/* Rows a second between the first and the last tenth. */
static double feed(void)
{
	uint64_t begin_ns = 0, begin_rows = 0, end_ns = 0, end_rows = 0, published = 0;

	while (published < events) {
		struct progress progress = look();
		uint64_t upto = progress.least + UNDER_WAY;

		if (!begin_ns && progress.least >= events / 10) {
			begin_ns = now_ns(CLOCK_MONOTONIC);
			begin_rows = progress.written;
		}
		end_ns = now_ns(CLOCK_MONOTONIC);
		end_rows = progress.written;
		published = bench_ring_publish_rows(&rows, upto < events ? upto : events);
		nanosleep(&(struct timespec){ .tv_nsec = POLL_NS }, NULL);
	}
	consumer_drain(consumer);
	return (double)(end_rows - begin_rows) * 1e9 / (double)(end_ns - begin_ns);
}

static void stop(void)
{
	struct writer_paths paths = { 0 };

	for (unsigned int i = 0; i < session_count; i++)
		router_detach(consumer_router(consumer), i);
	for (unsigned int i = 0; i < session_count; i++) {
		writer_stop(writers[i], "stopped", &paths);
		writer_paths_done(&paths);
	}
}

static uint64_t writers_cpu_ns(void)
{
	uint64_t spent = 0;

	for (unsigned int i = 0; i < session_count; i++)
		spent += writer_cpu_ns(writers[i]);
	return spent;
}

static void run(void)
{
	uint64_t own = now_ns(CLOCK_THREAD_CPUTIME_ID), all = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t begin = now_ns(CLOCK_MONOTONIC), elapsed, spent;
	struct progress progress;
	double rate = feed(), count;

	stop();
	elapsed = now_ns(CLOCK_MONOTONIC) - begin;
	own = now_ns(CLOCK_THREAD_CPUTIME_ID) - own;
	all = now_ns(CLOCK_PROCESS_CPUTIME_ID) - all;
	spent = writers_cpu_ns();
	progress = look();
	count = (double)progress.written;
	printf("sessions %u rows %.0f lost %llu bytes %.1f rate %.0f closed %.0f consumer %.1f writers %.1f\n",
	       session_count, count, (unsigned long long)progress.lost, (double)progress.bytes / count, rate,
	       count * 1e9 / (double)elapsed, (double)(all - own - spent) / count, (double)spent / count);
}

static void finish(void)
{
	for (unsigned int i = 0; i < session_count; i++)
		writer_free(writers[i]);
	consumer_free(consumer);
	if (!keep)
		nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static const struct option options[] = {
	{ "rows", required_argument, NULL, 'r' },   { "sessions", required_argument, NULL, 's' },
	{ "format", required_argument, NULL, 'f' }, { "folder", required_argument, NULL, 'd' },
	{ "keep", no_argument, &keep, 1 },	    { 0 },
};

static void take_options(int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == 'r')
			events = strtoull(optarg, NULL, 10);
		else if (option == 's')
			session_count = (unsigned int)atoi(optarg);
		else if (option == 'f')
			format = strcmp(optarg, "jsonl") ? IOTR_FORMAT_CSV : IOTR_FORMAT_JSONL;
		else if (option == 'd')
			parent = optarg;
		else if (option)
			exit(2);
	}
	if (!events || !session_count || session_count > SESSIONS_MAX)
		die("--rows, --sessions", -EINVAL);
}

int main(int argc, char **argv)
{
	take_options(argc, argv);
	fill_rings();
	start();
	run();
	finish();
	return 0;
}

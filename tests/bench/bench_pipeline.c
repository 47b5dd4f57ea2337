// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPU time of a row from the ring's callback to the file, by thread and by stage.
 *
 *   bench_pipeline [ROWS [FOLDER]]
 *
 * Rows come in drains of 4096 as fast as the writer takes them; a session's queue never overflows.
 * They are reads and writes of 16 threads on CPUs of their own, four files each, in runs of 16 rows
 * of one thread, as a ring has them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cells_anonymize.h"
#include "cleanup.h"
#include "format_csv.h"
#include "pipeline.h"
#include "queue.h"
#include "sink.h"

enum {
	FILES = 1000,
	DRAIN = 4096,
	SAMPLES = 256,
};

static struct iotr_vfs_record samples[SAMPLES];
static uint64_t rows = 5000000;
static const char *parent = "/tmp";

static void die(const char *what, int error)
{
	fprintf(stderr, "bench_pipeline: %s: %s\n", what, strerror(-error));
	exit(1);
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void report(const char *stage, uint64_t ns)
{
	printf("%-44s %7.1f ns a row\n", stage, (double)ns / (double)rows);
}

static void add_name(struct names *names, uint64_t id, uint64_t parent_id, const char *text)
{
	char space[sizeof(struct iotr_name_record) + 256] = { 0 };
	struct iotr_name_record *record = (void *)space;
	size_t length = strlen(text);

	record->id = id;
	record->parent = parent_id;
	record->inode = id;
	record->device = 254 << 20 | 1;
	record->length = (uint16_t)length;
	strcpy(record->fs_type, "ext4");
	memcpy(record->text, text, length);
	names_add(names, record, sizeof(*record) + length);
}

static void add_names(struct names *names)
{
	char text[64];

	add_name(names, 1, 0, "/");
	add_name(names, 2, 1, "var");
	add_name(names, 3, 2, "lib");
	add_name(names, 4, 3, "database");
	for (int file = 0; file < FILES; file++) {
		snprintf(text, sizeof(text), "segment-%06d.dat", file);
		add_name(names, 10 + (uint64_t)file, 4, text);
	}
}

static void make_sample(struct iotr_vfs_record *record, unsigned int number)
{
	unsigned int thread = number / 16, file = number % 4;

	*record = (struct iotr_vfs_record){
		.head = { .size = sizeof(*record), .stream = IOTR_VFS, .sessions = 1 },
		.result = 4096, .size = 4096, .offset = (uint64_t)number * 4096 * 1031,
		.address = IOTR_UNKNOWN, .fd = 3 + (int)(4 * thread + file), .has_fd = 1,
		.counts_bytes = 1, .flag_kind = IOTR_FLAGS_FILE,
	};
	record->head.operation = number % 3 ? IOTR_VFS_READ : IOTR_VFS_WRITE;
	record->head.cpu = thread;
	record->head.start_ns = 1234567890123456ULL + number * 1777;
	record->head.latency_ns = 800 + number * 37;
	record->head.cgroup_id = 12345;
	record->head.pid = 4242;
	record->head.tid = 4242 + thread;
	record->head.ppid = 1;
	record->head.uid = 1000;
	strcpy(record->head.command, "database");
	record->file.name = 10 + (thread * 61 + file) % FILES;
	record->file.inode = 1000000 + record->file.name;
	record->file.device = 254 << 20 | 1;
	record->file.flags = file % 2 ? 0102002 : 0100000;
}

/* A consumer's work: drains, with the rows' times going on. */
static void feed(struct router *router, const struct writer *writer)
{
	struct writer_counts counts;

	for (uint64_t row = 0; row < rows; row += DRAIN) {
		router_begin(router);
		for (uint64_t at = row; at < rows && at < row + DRAIN; at++) {
			struct iotr_vfs_record *sample = &samples[at % SAMPLES];

			sample->head.start_ns += 1000;
			router_row(router, &sample->head, sizeof(*sample));
		}
		router_end(router);
		do {
			writer_counts(writer, IOTR_VFS, &counts);
			if (counts.received - counts.written < 40000)
				break;
			usleep(1000);
		} while (true);
	}
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status, (void)type, (void)where;
	return remove(path);
}

static uint64_t hash_ns(uint64_t bytes)
{
	struct segment segment = { .fd = -1 };
	_cleanup_free_ char *data = calloc(1, SINK_BUFFER_SIZE);
	uint64_t before = cpu_ns();

	sha256_init(&segment.hash);
	while (segment.bytes < bytes)
		segment_accept(&segment, data, SINK_BUFFER_SIZE, true);
	return cpu_ns() - before;
}

static void whole(struct names *names)
{
	char folder[256], message[512];
	struct router_config router_config = { .names = names };
	struct router *router;
	struct writer *writer;
	struct writer_counts counts;
	uint64_t consumer, hash;
	int error;

	snprintf(folder, sizeof(folder), "%s/bench_pipeline.%d", parent, getpid());
	struct writer_config config = { .output = folder, .streams = 1 << IOTR_VFS };

	config.output_fd = output_create(folder, message, sizeof(message));
	if (config.output_fd < 0)
		die(message, config.output_fd);
	error = router_new(&router_config, &router) ?: writer_new(&config, &writer);
	if (error < 0)
		die(folder, error);
	router_attach(router, 0, writer);
	consumer = cpu_ns();
	feed(router, writer);
	consumer = cpu_ns() - consumer;
	router_detach(router, 0);
	writer_stop(writer, "stopped", NULL);
	writer_counts(writer, IOTR_VFS, &counts);
	hash = hash_ns(counts.bytes);
	report("consumer thread", consumer);
	report("writer thread", writer_cpu_ns(writer));
	report("  of it SHA-256 (as many bytes hashed again)", hash);
	report("both without SHA-256", consumer + writer_cpu_ns(writer) - hash);
	printf("%llu rows, %llu written, %llu lost in the queue, %.1f bytes a row\n",
	       (unsigned long long)rows, (unsigned long long)counts.written,
	       (unsigned long long)counts.lost_queue, (double)counts.bytes / (double)rows);
	writer_free(writer);
	router_free(router);
	close(config.output_fd);
	nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void stage_names(struct names *names)
{
	uint64_t before = cpu_ns(), length = 0;
	struct names_path path;

	for (uint64_t row = 0; row < rows; row++)
		if (names_resolve(names, samples[row % SAMPLES].file.name, &path))
			length += path.length;
	report("stage: name", cpu_ns() - before);
	if (!length)
		die("names", -EINVAL);
}

static void stage_queue(void)
{
	struct queue *queue = aligned_alloc(64, sizeof(*queue));
	struct row row = { .fs_type = "ext4",
			   .path = { "/var/lib/database/segment-000123.dat", 36, false } };
	uint64_t push = 0, pop = 0, before;

	queue_init(queue, QUEUE_SIZE, -1);
	for (uint64_t at = 0; at < rows; at += DRAIN) {
		before = cpu_ns();
		for (uint64_t i = 0; i < DRAIN; i++) {
			row.record = &samples[i % SAMPLES].head;
			queue_push(queue, &row);
		}
		push += cpu_ns() - before;
		before = cpu_ns();
		while (queue_front(queue, &row))
			queue_pop(queue);
		pop += cpu_ns() - before;
		row.path.text = "/var/lib/database/segment-000123.dat";
	}
	report("stage: queue, in", push);
	report("stage: queue, out", pop);
	queue_done(queue);
	free(queue);
}

static void stage_format(void)
{
	struct cells *cells = malloc(sizeof(*cells));
	struct row row = { .fs_type = "ext4",
			   .path = { "/var/lib/database/segment-000123.dat", 36, false } };
	_cleanup_free_ char *line = NULL;
	struct cell cell[CELLS_MAX];
	struct format_csv csv;
	uint64_t before, bytes = 0;

	cells_init(cells);
	format_csv_init(&csv);
	before = cpu_ns();
	for (uint64_t at = 0; at < rows; at++) {
		row.record = &samples[at % SAMPLES].head;
		bytes += cells_fill(cells, &row, cell);
	}
	report("stage: cells", cpu_ns() - before);
	row.record = &samples[0].head;
	line = malloc(format_csv_bound(&row));
	before = cpu_ns();
	for (uint64_t at = 0; at < rows; at++) {
		row.record = &samples[at % SAMPLES].head;
		bytes += format_csv_row(&csv, cell, cells_fill(cells, &row, cell), line);
	}
	report("stage: cells and CSV", cpu_ns() - before);
	if (!bytes)
		die("format", -EINVAL);
	free(cells);
}

/* Names that are known already, and names that are all new. */
static void stage_anonymize(void)
{
	static const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE] = { 1 };
	struct cells *cells = malloc(sizeof(*cells));
	struct cells_anonymizer *anonymizer;
	char path[] = "/var/lib/database/segment-00000123.dat", *number = strrchr(path, '-') + 1;
	struct row row = { .fs_type = "ext4" };
	struct cell cell[CELLS_MAX];
	uint64_t bytes = 0, spent[2];

	cells_init(cells);
	if (cells_anonymizer_new(key, &anonymizer) < 0)
		die("anonymizer", -ENOMEM);
	for (int fresh = 0; fresh < 2; fresh++) {
		uint64_t before = cpu_ns();

		for (uint64_t at = 0; at < rows; at++) {
			size_t columns;

			memcpy(digits_8(number, (uint32_t)(fresh ? at : samples[at % SAMPLES].file.name)), ".dat", 4);
			row.path = (struct row_text){ path, sizeof(path) - 1, false };
			row.record = &samples[at % SAMPLES].head;
			columns = cells_fill(cells, &row, cell);
			bytes += cells_anonymize(anonymizer, &row, cell, columns);
		}
		spent[fresh] = cpu_ns() - before;
	}
	report("stage: cells, anonymised", spent[0]);
	report("  each file a new name", spent[1]);
	if (!bytes)
		die("anonymizer", -EINVAL);
	cells_anonymizer_free(anonymizer);
	free(cells);
}

int main(int argc, char **argv)
{
	struct names_config config = { 0 };
	struct names *names;

	if (argc > 1)
		rows = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		parent = argv[2];
	if (names_new(&config, &names) < 0)
		die("names", -ENOMEM);
	add_names(names);
	for (unsigned int i = 0; i < SAMPLES; i++)
		make_sample(&samples[i], i);
	whole(names);
	stage_names(names);
	stage_queue();
	stage_format();
	stage_anonymize();
	names_free(names);
	return 0;
}

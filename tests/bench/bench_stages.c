// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPU time of each stage of a row's way by itself, all that it works on being at hand in the cache.
 *
 *   bench_stages [ROWS]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_rows.h"
#include "cells/cells_anonymize.h"
#include "cleanup.h"
#include "format_csv.h"
#include "pipeline.h"
#include "queue.h"
#include "writer/sink.h"

enum {
	DRAIN = 4096,
	SAMPLES = 256,
};

static struct iotr_vfs_record samples[SAMPLES];
static uint64_t rows = 5000000;

static void die(const char *what, int error)
{
	fprintf(stderr, "bench_stages: %s: %s\n", what, strerror(-error));
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

static void add_name(void *userdata, const struct iotr_name_record *record, uint32_t size)
{
	names_add(userdata, record, size);
}

static void stage_names(void)
{
	struct names_config config = { 0 };
	uint64_t before, length = 0;
	struct names_path path;
	struct names *names;

	if (names_new(&config, &names) < 0)
		die("names", -ENOMEM);
	rows_names(add_name, names);
	before = cpu_ns();
	for (uint64_t row = 0; row < rows; row++)
		if (names_resolve(names, samples[row % SAMPLES].file.name, &path))
			length += path.length;
	report("stage: name", cpu_ns() - before);
	names_free(names);
	if (!length)
		die("names", -EINVAL);
}

static void stage_queue(void)
{
	struct queue *queue = aligned_alloc(64, sizeof(*queue));
	struct row row = { .fs_type = "ext4",
			   .path = { "/var/lib/database/segment-000123.dat", 36 } };
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
			   .path = { "/var/lib/database/segment-000123.dat", 36 } };
	_cleanup_free_ char *line = NULL;
	struct cell cell[CELLS_MAX];
	struct csv csv;
	uint64_t before, bytes = 0;

	cells_init(cells);
	format_csv_init(&csv, IOTR_VFS, NULL);
	before = cpu_ns();
	for (uint64_t at = 0; at < rows; at++) {
		row.record = &samples[at % SAMPLES].head;
		bytes += cells_fill(cells, &row, cell);
	}
	report("stage: cells", cpu_ns() - before);
	row.record = &samples[0].head;
	line = malloc(format_csv_bound(&row, false));
	before = cpu_ns();
	for (uint64_t at = 0; at < rows; at++) {
		row.record = &samples[at % SAMPLES].head;
		bytes += format_csv_row(&csv, cells, &row, line);
	}
	report("stage: CSV", cpu_ns() - before);
	if (!bytes)
		die("format", -EINVAL);
	free(cells);
}

static void stage_hash(void)
{
	struct segment segment = { .fd = -1, .checksum = XXH3_createState() };
	_cleanup_free_ char *data = calloc(1, SINK_BUFFER_SIZE);
	uint64_t before, bytes = rows * 200;

	if (!data || !segment.checksum)
		die("hash", -ENOMEM);
	XXH3_128bits_reset(segment.checksum);
	before = cpu_ns();
	while (segment.bytes < bytes)
		segment_accept(&segment, data, SINK_BUFFER_SIZE);
	report("stage: checksum of 200 bytes", cpu_ns() - before);
	XXH3_freeState(segment.checksum);
}

/* Names that are known already, and names that are all new. */
static void stage_anonymize(void)
{
	static const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE] = { 1 };
	struct cells *cells = malloc(sizeof(*cells));
	struct cells_anonymizer *anonymizer;
	char path[] = "/var/lib/database/segment-00000123.dat", *number = strrchr(path, '-') + 1;
	struct row row = { .fs_type = "ext4", .path = { path, sizeof(path) - 1 } };
	uint64_t bytes = 0, spent[2];
	_cleanup_free_ char *line = malloc(format_csv_bound(&row, true));
	struct csv csv;

	cells_init(cells);
	if (cells_anonymizer_new(key, &anonymizer) < 0)
		die("anonymizer", -ENOMEM);
	format_csv_init(&csv, IOTR_VFS, anonymizer);
	for (int fresh = 0; fresh < 2; fresh++) {
		uint64_t before = cpu_ns();

		for (uint64_t at = 0; at < rows; at++) {
			memcpy(digits_8(number, (uint32_t)(fresh ? at : samples[at % SAMPLES].file.name)), ".dat", 4);
			row.record = &samples[at % SAMPLES].head;
			bytes += format_csv_row(&csv, cells, &row, line);
		}
		spent[fresh] = cpu_ns() - before;
	}
	report("stage: CSV, anonymised", spent[0]);
	report("  each file a new name", spent[1]);
	if (!bytes)
		die("anonymizer", -EINVAL);
	cells_anonymizer_free(anonymizer);
	free(cells);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		rows = strtoull(argv[1], NULL, 10);
	for (unsigned int i = 0; i < SAMPLES; i++)
		rows_make(&samples[i], i, 1);
	stage_names();
	stage_queue();
	stage_format();
	stage_hash();
	stage_anonymize();
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preads, or calls of another kind, in a loop on one CPU, and what one of them takes.
 *
 *   bench_pread [-k KIND] [-c CPU] [-n CALLS] [-b BATCHES | -s SECONDS] [-p US] [-o OFFSET] [-w] FILE
 *
 *   -k KIND     of bench_kinds.c (pread)
 *   -c CPU      stay on this CPU
 *   -n CALLS    calls of a batch (1000)
 *   -b BATCHES  batches (100)
 *   -s SECONDS  as many batches as fit in that time
 *   -p US       pause between batches, so that who records keeps up
 *   -o OFFSET   read this byte of the file (0): a mark that rows can be found by
 *   -w          say "ready", begin when a line or the end comes on standard input
 *
 * Prints "calls N seconds S cpu S min NS quartile NS median NS": all calls made, how long they
 * took, CPU time of that, and ns of a call in the quickest, the lower quartile and the median batch.
 * An untimed batch comes first, with -s none does.
 */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench_kinds.h"

enum { BATCHES_MAX = 1 << 20 };

static struct {
	int cpu;
	unsigned long calls, batches;
	double seconds;
	useconds_t pause;
	off_t offset;
	bool wait;
	const char *path;
	const struct kind *kind;
} chosen = { .cpu = -1, .calls = 1000, .batches = 100 };

static double batch_ns[BATCHES_MAX];

static void die(const char *what)
{
	fprintf(stderr, "bench_pread: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void take_option(int option)
{
	switch (option) {
	case 'c':
		chosen.cpu = atoi(optarg);
		break;
	case 'n':
		chosen.calls = strtoul(optarg, NULL, 10);
		break;
	case 'b':
		chosen.batches = strtoul(optarg, NULL, 10);
		break;
	case 's':
		chosen.seconds = strtod(optarg, NULL);
		break;
	case 'p':
		chosen.pause = (useconds_t)strtoul(optarg, NULL, 10);
		break;
	case 'o':
		chosen.offset = strtol(optarg, NULL, 10);
		break;
	case 'w':
		chosen.wait = true;
		break;
	case 'k':
		chosen.kind = kind_find(optarg);
		break;
	default:
		exit(2);
	}
}

static void take_arguments(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "k:c:n:b:s:p:o:w")) >= 0)
		take_option(option);
	if (optind != argc - 1 || !chosen.kind || !chosen.calls || !chosen.batches || chosen.batches > BATCHES_MAX) {
		fputs("usage: bench_pread [-k KIND] [-c CPU] [-n CALLS] [-b BATCHES | -s SECONDS] [-p US] "
		      "[-o OFFSET] [-w] FILE\n", stderr);
		exit(2);
	}
	chosen.path = argv[optind];
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		die("cannot choose the CPU");
}

static void wait_for_go(void)
{
	char line[16];

	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return;
}

static uint64_t run_batch(void)
{
	uint64_t before = now_ns();

	for (unsigned long call = 0; call < chosen.calls; call++)
		if (!chosen.kind->call(call))
			die(chosen.kind->name);
	return now_ns() - before;
}

/* Returns how many batches were made; those beyond the table are not timed. */
static unsigned long run_batches(void)
{
	uint64_t end = now_ns() + (uint64_t)(chosen.seconds * 1e9);
	unsigned long batch = 0;

	while (chosen.seconds > 0 ? now_ns() < end : batch < chosen.batches) {
		uint64_t ns = run_batch();

		if (batch < BATCHES_MAX)
			batch_ns[batch] = (double)ns / (double)chosen.calls;
		batch++;
		if (chosen.pause)
			usleep(chosen.pause);
	}
	return batch;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static void measure(void)
{
	uint64_t before = now_ns(), cpu_before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	unsigned long batches = run_batches();
	double cpu = (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_before) / 1e9;
	double seconds = (double)(now_ns() - before) / 1e9;
	unsigned long timed = batches < BATCHES_MAX ? batches : BATCHES_MAX;

	qsort(batch_ns, timed, sizeof(batch_ns[0]), compare);
	printf("calls %lu seconds %.6f cpu %.6f min %.1f quartile %.1f median %.1f\n",
	       (batches + !chosen.seconds) * chosen.calls, seconds, cpu, batch_ns[0],
	       batch_ns[timed / 4], batch_ns[timed / 2]);
}

int main(int argc, char **argv)
{
	chosen.kind = kind_find("pread");
	take_arguments(argc, argv);
	if (chosen.cpu >= 0)
		pin(chosen.cpu);
	if (!chosen.kind->prepare(chosen.path, chosen.offset))
		die(chosen.path);
	if (chosen.wait)
		wait_for_go();
	if (!chosen.seconds)
		run_batch();
	measure();
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_snapshot filesystem ROOT DEPTH OUTPUT | process OUTPUT | system OUTPUT
 *
 * What a snapshot costs without the process around it. Prints rows, seconds, and CPU seconds; for
 * processes the reading of the kernel's tasks apart, which the sampler does every 2.5 s.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kinds.h"
#include "sampler.h"

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int take_tasks(void)
{
	struct sampler *sampler;
	sd_event *event;
	double begin;
	int fd;

	sd_event_new(&event);
	if (sampler_new(event, &sampler) < 0)
		return -1;
	close(sampler_take(sampler));
	begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
	fd = sampler_take(sampler);
	printf("tasks cpu %.6f\n", seconds(CLOCK_PROCESS_CPUTIME_ID) - begin);
	sampler_free(sampler);
	sd_event_unref(event);
	return fd;
}

int main(int argc, char **argv)
{
	struct snapshot_request request = { .number = 1 };
	struct job job = { .request = &request, .started_ns = 1, .tasks_fd = -1 };
	int kind = argc > 2 ? snapshot_kind_find(argv[1]) : -1, r;
	double begin, cpu;

	if (kind < 0 || (kind == SNAPSHOT_FILESYSTEM) != (argc == 5))
		return 2;
	if (argc == 5) {
		snprintf(request.root, sizeof(request.root), "%s", argv[2]);
		request.depth = (uint32_t)strtoul(argv[3], NULL, 10);
	}
	if (kind == SNAPSHOT_PROCESS)
		job.tasks_fd = take_tasks();
	job.output_fd = open(argv[argc - 1], O_RDONLY | O_DIRECTORY);
	begin = seconds(CLOCK_MONOTONIC);
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	r = job_kinds[kind]->begin(&job);
	if (r >= 0)
		r = job_kinds[kind]->run(&job);
	printf("rows %llu seconds %.6f cpu %.6f\n", (unsigned long long)job.rows,
	       seconds(CLOCK_MONOTONIC) - begin, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	job_kinds[kind]->done(&job);
	if (r < 0)
		fprintf(stderr, "bench_snapshot: %s: %s\n", job.message, strerror(-r));
	return r < 0;
}

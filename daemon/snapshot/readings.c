// SPDX-License-Identifier: GPL-2.0-or-later
#include "readings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"

#define SECOND_NS   1000000000ULL
#define READ_SIZE   65536
#define START_TICK  10000000 /* ns: two processes with one pid do not start closer together */
#define KEPT_MAX    32

/* For each window, readings at least `step_ns` apart, the newest `kept` of them. */
static const struct {
	uint64_t window_ns, step_ns;
	size_t kept;
} windows[SAMPLER_WINDOWS] = {
	{ 5 * SECOND_NS, 2 * SECOND_NS, 5 },
	{ 120 * SECOND_NS, 10 * SECOND_NS, 14 },
	{ 3600 * SECOND_NS, 120 * SECOND_NS, 32 },
};

struct kept_task {
	uint32_t pid;
	uint32_t start; /* in START_TICKs, truncated: only tells processes with one pid apart */
	uint64_t cpu_ns;
};

struct reading {
	unsigned int references;
	uint64_t at_ns;
	size_t count;
	struct kept_task tasks[];
};

struct readings {
	struct reading *kept[SAMPLER_WINDOWS][KEPT_MAX]; /* newest first */
};

/* ---- reading ---- */

void readings_tasks_done(struct readings_tasks *tasks)
{
	free(tasks->tasks);
	*tasks = (struct readings_tasks){ 0 };
}

static int add_process(struct readings_tasks *tasks, const struct iotr_task *task)
{
	if (tasks->count == tasks->capacity) {
		size_t capacity = tasks->capacity ? 2 * tasks->capacity : 256;
		void *grown = reallocarray(tasks->tasks, capacity, sizeof(*tasks->tasks));

		if (!grown)
			return -ENOMEM;
		tasks->tasks = grown;
		tasks->capacity = capacity;
	}
	tasks->tasks[tasks->count++] = (struct sampled_task){ .task = *task, .share = { -1, -1, -1 } };
	return 0;
}

struct threads {
	struct iotr_task_head *heads;
	size_t count, capacity;
};

static void threads_done(struct threads *threads)
{
	free(threads->heads);
}

static int add_thread(struct threads *threads, const struct iotr_task_head *head)
{
	if (threads->count == threads->capacity) {
		size_t capacity = threads->capacity ? 2 * threads->capacity : 256;
		void *grown = reallocarray(threads->heads, capacity, sizeof(*head));

		if (!grown)
			return -ENOMEM;
		threads->heads = grown;
		threads->capacity = capacity;
	}
	threads->heads[threads->count++] = *head;
	return 0;
}

/* Takes whole records from the beginning; returns how many bytes they were. */
static ssize_t take_records(const char *bytes, size_t size, struct readings_tasks *tasks,
			    struct threads *threads)
{
	size_t at = 0;

	while (size - at >= sizeof(struct iotr_task_head)) {
		const struct iotr_task *task = (const void *)(bytes + at);
		bool first = task->head.tgid == task->head.tid;
		size_t length = first ? sizeof(*task) : sizeof(task->head);
		int r;

		if (size - at < length)
			break;
		if (tasks->each)
			tasks->each(&task->head, tasks->userdata);
		r = first ? add_process(tasks, task) : add_thread(threads, &task->head);
		if (r < 0)
			return r;
		at += length;
	}
	return (ssize_t)at;
}

static int compare_tasks(const void *left, const void *right)
{
	const struct sampled_task *a = left, *b = right;

	return (a->task.head.tgid > b->task.head.tgid) - (a->task.head.tgid < b->task.head.tgid);
}

static void add_up(struct readings_tasks *tasks, const struct threads *threads)
{
	for (size_t i = 0; i < threads->count; i++) {
		struct sampled_task key = { .task.head.tgid = threads->heads[i].tgid }, *process;

		process = bsearch(&key, tasks->tasks, tasks->count, sizeof(key), compare_tasks);
		if (process)
			process->task.head.cpu_ns += threads->heads[i].cpu_ns;
	}
}

int readings_tasks_read(int fd, struct readings_tasks *tasks)
{
	_cleanup_(threads_done) struct threads threads = { 0 };
	_cleanup_free_ char *buffer = malloc(READ_SIZE);
	size_t used = 0;
	ssize_t size, taken;

	if (!buffer)
		return -ENOMEM;
	while ((size = read(fd, buffer + used, READ_SIZE - used)) != 0) {
		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (size < 0)
			return -errno;
		used += (size_t)size;
		taken = take_records(buffer, used, tasks, &threads);
		if (taken < 0)
			return (int)taken;
		used -= (size_t)taken;
		memmove(buffer, buffer + taken, used);
	}
	if (!tasks->count)
		return -ENODATA;
	qsort(tasks->tasks, tasks->count, sizeof(*tasks->tasks), compare_tasks);
	add_up(tasks, &threads);
	return 0;
}

/* ---- keeping ---- */

int readings_new(struct readings **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void unref(struct reading *reading)
{
	if (reading && !--reading->references)
		free(reading);
}

void readings_forget(struct readings *readings)
{
	for (size_t i = 0; i < SAMPLER_WINDOWS; i++)
		for (size_t j = 0; j < KEPT_MAX; j++) {
			unref(readings->kept[i][j]);
			readings->kept[i][j] = NULL;
		}
}

void readings_free(struct readings *readings)
{
	if (!readings)
		return;
	readings_forget(readings);
	free(readings);
}

static uint32_t start_of(const struct iotr_task *task)
{
	return (uint32_t)(task->start_ns / START_TICK);
}

static struct reading *reading_new(const struct readings_tasks *tasks, uint64_t now_ns)
{
	struct reading *reading = malloc(sizeof(*reading) + tasks->count * sizeof(reading->tasks[0]));

	if (!reading)
		return NULL;
	reading->references = 1;
	reading->at_ns = now_ns;
	reading->count = tasks->count;
	for (size_t i = 0; i < tasks->count; i++) {
		const struct iotr_task *task = &tasks->tasks[i].task;

		reading->tasks[i] = (struct kept_task){ task->head.tgid, start_of(task),
							task->head.cpu_ns };
	}
	return reading;
}

int readings_add(struct readings *readings, const struct readings_tasks *tasks, uint64_t now_ns)
{
	struct reading *reading = reading_new(tasks, now_ns);

	if (!reading)
		return -ENOMEM;
	for (size_t i = 0; i < SAMPLER_WINDOWS; i++) {
		struct reading **kept = readings->kept[i];
		size_t last = windows[i].kept - 1;

		if (kept[0] && now_ns - kept[0]->at_ns < windows[i].step_ns)
			continue;
		unref(kept[last]);
		memmove(kept + 1, kept, last * sizeof(*kept));
		kept[0] = reading;
		reading->references++;
	}
	unref(reading);
	return 0;
}

/* ---- shares ---- */

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The reading whose age is closest to the window, NULL when none is close. */
static const struct reading *closest(const struct readings *readings, size_t window, uint64_t now_ns)
{
	const struct reading *best = NULL;

	for (size_t i = 0; i < windows[window].kept; i++) {
		const struct reading *reading = readings->kept[window][i];

		if (reading && (!best || distance(now_ns - reading->at_ns, windows[window].window_ns) <
						 distance(now_ns - best->at_ns, windows[window].window_ns)))
			best = reading;
	}
	if (best && distance(now_ns - best->at_ns, windows[window].window_ns) > windows[window].step_ns)
		return NULL;
	return best;
}

/* Fills in a window's shares by an earlier reading. Both lists are in the order of pids. */
static void fill_in(const struct reading *from, struct readings_tasks *tasks, size_t window,
		    uint64_t now_ns)
{
	size_t at = 0;

	for (size_t i = 0; i < tasks->count; i++) {
		const struct iotr_task *task = &tasks->tasks[i].task;
		const struct kept_task *before;

		while (at < from->count && from->tasks[at].pid < task->head.tgid)
			at++;
		before = at < from->count ? &from->tasks[at] : NULL;
		if (!before || before->pid != task->head.tgid || before->start != start_of(task) ||
		    task->head.cpu_ns < before->cpu_ns)
			continue;
		tasks->tasks[i].share[window] =
			(int64_t)((double)(task->head.cpu_ns - before->cpu_ns) * 10000 /
					  (double)(now_ns - from->at_ns) + 0.5);
	}
}

void readings_shares(const struct readings *readings, struct readings_tasks *tasks, uint64_t now_ns)
{
	for (size_t i = 0; i < SAMPLER_WINDOWS; i++) {
		const struct reading *from = closest(readings, i, now_ns);

		if (from && from->at_ns < now_ns)
			fill_in(from, tasks, i, now_ns);
	}
}

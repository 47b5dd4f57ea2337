// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "log.h"
#include "readings.h"
#include "write_all.h"

#define TICK_US 2500000

extern const unsigned char iotr_bpf_tasks_begin[], iotr_bpf_tasks_end[];

struct sampler {
	sd_event *event;
	sd_event_source *timer;
	struct bpf_object *object;
	struct bpf_program *program;
	struct readings *readings;
};

static int load(struct sampler *sampler)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "tasks");
	int r;

	sampler->object = bpf_object__open_mem(
		iotr_bpf_tasks_begin, (size_t)(iotr_bpf_tasks_end - iotr_bpf_tasks_begin), &options);
	if (!sampler->object)
		return -errno;
	r = bpf_object__load(sampler->object);
	if (r < 0)
		return r;
	sampler->program = bpf_object__find_program_by_name(sampler->object, "tasks");
	return sampler->program ? 0 : -ENOENT;
}

int sampler_new(sd_event *event, struct sampler **ret)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	int r = -ENOMEM;

	if (sampler) {
		sampler->event = sd_event_ref(event);
		r = load(sampler);
	}
	if (r >= 0)
		r = readings_new(&sampler->readings);
	if (r < 0) {
		sampler_free(sampler);
		return r;
	}
	*ret = sampler;
	return 0;
}

void sampler_free(struct sampler *sampler)
{
	if (!sampler)
		return;
	sd_event_source_disable_unref(sampler->timer);
	readings_free(sampler->readings);
	bpf_object__close(sampler->object);
	sd_event_unref(sampler->event);
	free(sampler);
}

/* The link exists only for this reading: no object of the kernel is held in between. */
static int read_tasks(struct sampler *sampler, struct readings_tasks *tasks)
{
	struct bpf_link *link = bpf_program__attach_iter(sampler->program, NULL);
	_cleanup_close_ int fd = -1;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	bpf_link__destroy(link);
	return fd < 0 ? -errno : readings_tasks_read(fd, tasks);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
	_cleanup_(readings_tasks_done) struct readings_tasks tasks = { 0 };
	struct sampler *sampler = userdata;
	int r;

	(void)usec;
	r = read_tasks(sampler, &tasks);
	if (r >= 0)
		r = readings_add(sampler->readings, &tasks, clock_ns(CLOCK_MONOTONIC));
	if (r < 0)
		log_debug("CPU times of processes cannot be read, and are read again soon: %s", strerror(-r));
	sd_event_source_set_time_relative(source, TICK_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void sampler_run(struct sampler *sampler, bool run)
{
	if (run == !!sampler->timer)
		return;
	if (run) {
		sd_event_add_time_relative(sampler->event, &sampler->timer, CLOCK_MONOTONIC, 0,
					   TICK_US / 20, on_tick, sampler);
	} else {
		sampler->timer = sd_event_source_disable_unref(sampler->timer);
		readings_forget(sampler->readings);
	}
}

int sampler_each(struct sampler *sampler, void (*each)(const struct iotr_task *task, void *userdata),
		 void *userdata)
{
	_cleanup_(readings_tasks_done) struct readings_tasks tasks = { 0 };
	int r = read_tasks(sampler, &tasks);

	for (size_t i = 0; i < tasks.count && r >= 0; i++)
		each(&tasks.tasks[i].task, userdata);
	return r;
}

int sampler_each_thread(struct sampler *sampler, void (*each)(const struct iotr_task_head *thread, void *userdata),
			void *userdata)
{
	_cleanup_(readings_tasks_done) struct readings_tasks tasks = { .each = each, .userdata = userdata };

	return read_tasks(sampler, &tasks);
}

int sampler_take(struct sampler *sampler)
{
	_cleanup_(readings_tasks_done) struct readings_tasks tasks = { 0 };
	_cleanup_close_ int fd = -1;
	int r = read_tasks(sampler, &tasks);

	if (r < 0)
		return r;
	readings_shares(sampler->readings, &tasks, clock_ns(CLOCK_MONOTONIC));
	fd = memfd_create("iotracer-tasks", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = write_all(fd, tasks.tasks, tasks.count * sizeof(*tasks.tasks));
	return r < 0 ? r : take_fd(&fd);
}

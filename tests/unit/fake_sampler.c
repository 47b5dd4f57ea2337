// SPDX-License-Identifier: GPL-2.0-or-later
/* A sampler without a kernel: the only process of the machine is this one. */
#include "snapshot/sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cleanup.h"
#include "write_all.h"

static struct iotr_task this_process(void)
{
	return (struct iotr_task){ .head = { .tgid = getpid(), .tid = getpid() }, .ppid = getppid(), .uid = getuid(),
				   .vm_pages = 1, .command = "fake" };
}

int sampler_new(sd_event *event, struct sampler **ret)
{
	(void)event;
	*ret = calloc(1, 1); /* there is nothing to free */
	return *ret ? 0 : -ENOMEM;
}

void sampler_free(struct sampler *sampler)
{
	free(sampler);
}

void sampler_run(struct sampler *sampler, bool run)
{
	(void)sampler, (void)run;
}

int sampler_each(struct sampler *sampler, void (*each)(const struct iotr_task *task, void *userdata), void *userdata)
{
	const struct iotr_task task = this_process();

	(void)sampler;
	each(&task, userdata);
	return 0;
}

int sampler_each_thread(struct sampler *sampler, void (*each)(const struct iotr_task_head *thread, void *userdata),
			void *userdata)
{
	const struct iotr_task task = this_process();

	(void)sampler;
	each(&task.head, userdata);
	return 0;
}

int sampler_take(struct sampler *sampler)
{
	const struct sampled_task task = { .task = this_process(), .share = { -1, -1, -1 } };
	_cleanup_close_ int fd = memfd_create("fake-tasks", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : write_all(fd, &task, sizeof(task));

	(void)sampler;
	return r < 0 ? r : take_fd(&fd);
}

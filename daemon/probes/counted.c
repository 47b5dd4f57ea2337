// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/counted.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"

static int event_open(uint64_t number, int cpu, uint64_t period)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = number,
		.sample_period = period,
	};
	long fd = syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

int counted_number(const struct bpf_program *program, uint64_t *number)
{
	const char *name = bpf_program__name(program);

	if (strcmp(bpf_program__section_name(program), "perf_event"))
		return -ENOENT;
	*number = strstr(name, "major") ? PERF_COUNT_SW_PAGE_FAULTS_MAJ : PERF_COUNT_SW_PAGE_FAULTS_MIN;
	return 0;
}

int counted_attach(int program, uint64_t number, int cpu, uint64_t period)
{
	_cleanup_close_ int fd = event_open(number, cpu, period);

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) < 0 || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	return take_fd(&fd);
}

int counted_period(int event, uint64_t period)
{
	return ioctl(event, PERF_EVENT_IOC_PERIOD, &period) < 0 ? -errno : 0;
}

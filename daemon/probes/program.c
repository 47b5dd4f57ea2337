// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/program.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"
#include "probes/probes_private.h"

int program_fd(const struct probes *probes, const struct bpf_program *program)
{
	int fd = bpf_program__fd(program);

	for (size_t which = 0; which < OBJECT_COUNT && fd < 0; which++) {
		const struct inherited *inherited = &probes->inherited[which];

		for (size_t i = 0; probes->objects[which] && i < inherited->count && fd < 0; i++)
			if (inherited->programs[i].program == program)
				fd = inherited->programs[i].fd;
	}
	return fd < 0 ? -1 : fd;
}

/* Programs on raw tracepoints are for those of modules, and take from their arguments nothing that needs a type. */
bool on_module(const struct bpf_program *program)
{
	return !strncmp(bpf_program__section_name(program), "raw_tp/", 7);
}

/* The number by which perf events name a tracepoint, given as "CATEGORY/NAME". */
static int tracepoint_number(const char *tracepoint)
{
	static const char *const folders[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	int number = -ENOENT;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && number < 0; i++) {
		_cleanup_fclose_ FILE *file = NULL;
		char path[256];

		snprintf(path, sizeof(path), "%s/events/%s/id", folders[i], tracepoint);
		file = fopen(path, "re");
		if (file && fscanf(file, "%d", &number) != 1)
			number = -EINVAL;
	}
	return number;
}

/* Classic tracepoints have perf events, one of which is for all CPUs as far as its program is concerned. */
static int link_classic(const char *tracepoint, int program)
{
	_cleanup_close_ int fd = -1;
	int number = tracepoint_number(tracepoint);
	struct perf_event_attr attributes = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attributes) };

	if (number < 0)
		return number;
	attributes.config = (uint64_t)number;
	fd = (int)syscall(SYS_perf_event_open, &attributes, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) < 0 || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	return take_fd(&fd);
}

int program_link(const struct bpf_program *program, int fd)
{
	const char *section = bpf_program__section_name(program), *hook = strchr(section, '/');
	int link;

	if (!hook)
		return -EOPNOTSUPP;
	if (!strncmp(section, "tp/", 3))
		return link_classic(hook + 1, fd);
	/* A program that was verified for its hook knows it. */
	link = bpf_raw_tracepoint_open(on_module(program) ? hook + 1 : NULL, fd);
	return link < 0 ? -errno : link;
}

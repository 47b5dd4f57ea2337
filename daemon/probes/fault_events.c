// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/fault_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "probes/counted.h"
#include "probes/program.h"

/* Adds an event, which is then owned; it is closed on failure. */
static int event_keep(struct probes *probes, int fd, int cpu)
{
	size_t count = probes->fault_event_count;
	struct fault_event *events = reallocarray(probes->fault_events, count + 1, sizeof(*events));

	if (!events) {
		close(fd);
		return -ENOMEM;
	}
	events[count] = (struct fault_event){ .fd = fd, .cpu = cpu };
	probes->fault_events = events;
	probes->fault_event_count++;
	return 0;
}

/* Closes the events behind the first `count`. */
static void close_behind(struct probes *probes, size_t count)
{
	while (probes->fault_event_count > count)
		close(probes->fault_events[--probes->fault_event_count].fd);
}

static void close_of_cpu(struct probes *probes, int cpu)
{
	size_t kept = 0;

	for (size_t i = 0; i < probes->fault_event_count; i++) {
		if (probes->fault_events[i].cpu == cpu)
			close(probes->fault_events[i].fd);
		else
			probes->fault_events[kept++] = probes->fault_events[i];
	}
	probes->fault_event_count = kept;
}

static int attach_on(struct probes *probes, const struct bpf_program *program, uint64_t number, int cpu)
{
	int event = counted_attach(program_fd(probes, program), number, cpu, probes->fault_period);

	return event < 0 ? event : event_keep(probes, event, cpu);
}

int fault_events_attach(struct probes *probes, const struct bpf_program *program, uint64_t number)
{
	size_t before = probes->fault_event_count;
	int cpus = libbpf_num_possible_cpus(), r = 0;

	probes->cpu_changes = __atomic_load_n(&probes->page->cpu_changes, __ATOMIC_RELAXED);
	for (int cpu = 0; cpu < cpus && cpu < IOTR_FAULT_CPUS && r >= 0; cpu++) {
		r = attach_on(probes, program, number, cpu);
		if (r >= 0)
			probes->page->fault_cpus[cpu] = 1;
		else if (r == -ENODEV) /* not online */
			r = 0;
	}
	if (r < 0)
		close_behind(probes, before);
	return r;
}

void fault_events_close(struct probes *probes)
{
	close_behind(probes, 0);
	free(probes->fault_events);
	probes->fault_events = NULL;
	if (probes->page) /* not where the kernel refused the objects */
		memset(probes->page->fault_cpus, 0, sizeof(probes->page->fault_cpus));
}

uint64_t probes_fault_period(struct probes *probes, uint64_t period)
{
	int r = 0;

	if (period == probes->fault_period)
		return period;
	probes->fault_period = period;
	for (size_t i = 0; i < probes->fault_event_count && r >= 0; i++)
		r = counted_period(probes->fault_events[i].fd, period);
	if (r >= 0)
		return period;
	log_warning("cannot set the period of the perf events of page faults, so that the BPF program sees all of them: %s",
		    strerror(-r));
	return period > 1 ? probes_fault_period(probes, 1) : period;
}

/* Gives a CPU that has come its events. */
static void attach_cpu(struct probes *probes, int cpu)
{
	struct bpf_program *program;
	uint64_t number;
	int r = 0;

	close_of_cpu(probes, cpu);
	bpf_object__for_each_program(program, object_of(probes, PROBES_PAGEFAULT)) {
		if (program_attaches(PROBES_PAGEFAULT, program) && counted_number(program, &number) >= 0 && r >= 0)
			r = attach_on(probes, program, number, cpu);
	}
	if (r >= 0) {
		probes->page->fault_cpus[cpu] = 1;
		return;
	}
	close_of_cpu(probes, cpu);
	if (r != -ENODEV)
		log_warning("page faults on CPU %d, which has come, are not recorded: %s", cpu, strerror(-r));
}

void probes_follow_cpus(struct probes *probes)
{
	uint64_t changes = __atomic_load_n(&probes->page->cpu_changes, __ATOMIC_ACQUIRE);
	int cpus = libbpf_num_possible_cpus();

	if (!probes->attached[PROBES_PAGEFAULT] || probes->cpu_changes == changes)
		return;
	probes->cpu_changes = changes;
	for (int cpu = 0; cpu < cpus && cpu < IOTR_FAULT_CPUS; cpu++)
		if (!*(volatile uint8_t *)&probes->page->fault_cpus[cpu])
			attach_cpu(probes, cpu);
}

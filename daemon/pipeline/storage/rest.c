// SPDX-License-Identifier: GPL-2.0-or-later
#include "rest.h"

#include <linux/ioprio.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clocks.h"

#define NICE_LAST 19
#define IOPRIO_BE_LAST 7 /* of the levels 0 to 7 */

enum rest rest_of_segment(uint64_t closed_ns)
{
	/* A clock that was set back since then makes a large number of it. */
	return clocks_realtime_ns() - closed_ns < REST_PATIENCE_NS ? REST_IDLE : REST_BEHIND;
}

/* `thread` 0: the calling one. */
static void set_cpu(pid_t thread, enum rest rest)
{
	const struct sched_param none = { 0 };

	sched_setscheduler(thread, rest == REST_IDLE ? SCHED_IDLE : SCHED_OTHER, &none);
	setpriority(PRIO_PROCESS, (id_t)thread, rest == REST_BEHIND ? NICE_LAST : 0); /* on Linux of one thread alone */
}

void rest_cpu(enum rest rest)
{
	set_cpu(0, rest);
}

void rest_ends(pid_t thread)
{
	set_cpu(thread, REST_NOT);
}

void rest_disk(enum rest rest)
{
	static const struct {
		int class, level;
	} priorities[] = {
		[REST_NOT] = { IOPRIO_CLASS_NONE, 0 },
		[REST_BEHIND] = { IOPRIO_CLASS_BE, IOPRIO_BE_LAST },
		[REST_IDLE] = { IOPRIO_CLASS_IDLE, 0 },
	};

	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
		IOPRIO_PRIO_VALUE(priorities[rest].class, priorities[rest].level));
}

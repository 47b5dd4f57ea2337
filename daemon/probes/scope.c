// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/scope.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-login.h>
#include <unistd.h>

#include "cleanup.h"

#define WAIT_US	   1000000
#define INTERVAL_US 5000

/* Whether the process is in a service; `pid` 0: this one. */
static bool in_service(pid_t pid)
{
	_cleanup_free_ char *unit = NULL;
	const char *kind = sd_pid_get_unit(pid, &unit) < 0 ? NULL : strrchr(unit, '.');

	return kind && !strcmp(kind, ".service");
}

/* Without the usual dependencies the machine's shutdown, which nothing may be started against, lets it be. */
static int append(sd_bus_message *call, pid_t process)
{
	char name[64];
	int r;

	snprintf(name, sizeof(name), "iotracer-detach-%d.scope", process);
	r = sd_bus_message_append(call, "ss", name, "fail");
	if (r < 0)
		return r;
	return sd_bus_message_append(call, "a(sv)a(sa(sv))", 4,
				     "Description", "s", "I/O tracer's hooks, of which the kernel lets go",
				     "DefaultDependencies", "b", 0,
				     "CollectMode", "s", "inactive-or-failed",
				     "PIDs", "au", 1, (uint32_t)process, 0);
}

static int ask(pid_t process)
{
	_cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
	int r = sd_bus_open_system(&bus);

	if (r >= 0)
		r = sd_bus_message_new_method_call(bus, &call, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
						   "org.freedesktop.systemd1.Manager", "StartTransientUnit");
	if (r >= 0)
		r = append(call, process);
	return r < 0 ? r : sd_bus_call(bus, call, WAIT_US, NULL, NULL);
}

int scope_move(pid_t process)
{
	int r;

	if (!in_service(0))
		return 0;
	r = ask(process);
	if (r < 0)
		return r;
	/* The unit is started behind the answer. */
	for (int waited = 0; in_service(process); waited += INTERVAL_US) {
		if (waited >= WAIT_US)
			return -ETIMEDOUT;
		usleep(INTERVAL_US);
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the service has a name of the machine of its own, keeps host_name() to what the machine is called. The kernel tells of a
 * change, and not of the name; systemd-hostnamed does, over the system bus. Nothing waits for it. Main thread.
 */
#pragma once

#include <systemd/sd-event.h>

struct host_watch;

/* `*ret` is NULL where the name of this process is the machine's, as by hand. */
void host_watch_new(sd_event *event, struct host_watch **ret);
void host_watch_free(struct host_watch *watch); /* takes NULL */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hierarchy of cgroup v2: those that exist, by a walk over its mount, and those that are made and removed, by BPF
 * programs of their own. A cgroup is told of by its id, which rows have, the id of the one above it, and its name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "cgroup_event.h"

enum {
	HIERARCHY_LEVELS = 256, /* below the root: what is deeper is not walked */
};

/* ---- cgroups that come and go ---- */

struct hierarchy;

typedef void (*hierarchy_handler)(const struct iotr_cgroup_event *event, void *userdata);

/* Loads the programs, which takes some tens of milliseconds. An error is that of the kernel, which refuses it. Any thread. */
int hierarchy_load(struct hierarchy **ret);

/*
 * Attaches them. The handler is called by hierarchy_drain(), and on the event loop where much waits for that. Main thread, as
 * all that follow.
 */
int hierarchy_attach(struct hierarchy *hierarchy, sd_event *event, hierarchy_handler handler, void *userdata);

/* Detaches them, after the handler was called for everything that came before. Does nothing if they are not attached. */
void hierarchy_detach(struct hierarchy *hierarchy);

/* Calls the handler for everything that has happened by now. */
void hierarchy_drain(struct hierarchy *hierarchy);

/* Events that were lost since the programs were loaded, as too many came at once. */
uint64_t hierarchy_lost(const struct hierarchy *hierarchy);
void hierarchy_free(struct hierarchy *hierarchy); /* takes NULL */

/* ---- cgroups that exist ---- */

/* Called for each, a parent before what is below it. Of the root of the mount, `parent` is 0 and the name empty. */
typedef void (*hierarchy_found)(uint64_t id, uint64_t parent, const char *name, void *userdata);

/*
 * Walks over the mount that shows most of the hierarchy. `*whole`: its root is that of the hierarchy; otherwise it is
 * that of a cgroup namespace or of a bind mount. -ENOENT: cgroup v2 is not mounted. Any thread.
 */
int hierarchy_walk(hierarchy_found found, void *userdata, bool *whole);

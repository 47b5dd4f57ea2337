// SPDX-License-Identifier: GPL-2.0-or-later
/* A hierarchy of cgroups without a kernel: its root alone, and nothing comes or goes. */
#include "probes/hierarchy.h"

int hierarchy_load(struct hierarchy **ret)
{
	*ret = NULL; /* there is nothing to attach */
	return 0;
}

int hierarchy_attach(struct hierarchy *hierarchy, sd_event *event, hierarchy_handler handler, void *userdata)
{
	(void)hierarchy, (void)event, (void)handler, (void)userdata;
	return 0;
}

void hierarchy_detach(struct hierarchy *hierarchy)
{
	(void)hierarchy;
}

void hierarchy_drain(struct hierarchy *hierarchy)
{
	(void)hierarchy;
}

uint64_t hierarchy_lost(const struct hierarchy *hierarchy)
{
	(void)hierarchy;
	return 0;
}

void hierarchy_free(struct hierarchy *hierarchy)
{
	(void)hierarchy;
}

int hierarchy_walk(hierarchy_found found, void *userdata, bool *whole)
{
	*whole = true;
	found(1, 0, "", userdata);
	return 0;
}

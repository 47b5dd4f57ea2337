// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "probes/hierarchy.h"
#include "session/groups_table.h"

#define LOAD_NS 5000000000ULL /* time that the first session gives to the loading of the programs */
#define WALK_NS 1000000000ULL /* time that a list gives to a walk */

struct groups {
	sd_event *event;
	struct errands *errands;
	struct groups_table table;
	struct hierarchy *hierarchy; /* NULL: the kernel refuses its programs, or they are being loaded */
	struct load *loading;	     /* NULL: that is over */
	struct scan *walking;	     /* NULL: none is under way */
	int refused;		     /* why nothing tells of cgroups that come and go: negative errno, or 0 */
	bool watched;		     /* its programs have told of them since the first session began */
	int unwalked;		     /* why the last walk found nothing: negative errno, or 0 */
	bool whole;		     /* the last walk saw the whole hierarchy */
	bool walk_again;	     /* the walk that is under way began before something was missed */
	unsigned int sessions;
	uint64_t lost;	    /* hierarchy_lost() as last seen */
	uint64_t lost_here; /* since the first session began */
};

/* ---- loading the programs ---- */

struct load {
	struct errand errand;
	struct groups *groups;
	struct hierarchy *hierarchy;
	int result;
};

static struct load *load_of(struct errand *errand)
{
	return (struct load *)((char *)errand - offsetof(struct load, errand));
}

static void load_work(struct errand *errand)
{
	load_of(errand)->result = hierarchy_load(&load_of(errand)->hierarchy);
}

static void load_drop(struct errand *errand)
{
	hierarchy_free(load_of(errand)->hierarchy);
	free(load_of(errand));
}

/* Takes the result over; what is left of it goes with the errand. */
static void load_take(struct groups *groups)
{
	struct load *load = TAKE(groups->loading);

	load->groups = NULL;
	groups->hierarchy = TAKE(load->hierarchy);
	groups->refused = load->result;
	if (load->result < 0)
		log_notice("cgroups that are made while a session runs will not be in its table of cgroups, as the "
			   "kernel refuses the programs that tell of them: %s", strerror(-load->result));
}

static void load_done(struct errand *errand)
{
	struct load *load = load_of(errand);

	if (load->groups)
		load_take(load->groups);
	free(load);
}

static int load_begin(struct groups *groups)
{
	struct load *load = calloc(1, sizeof(*load));
	int r;

	if (!load)
		return -ENOMEM;
	*load = (struct load){ .errand = { .work = load_work, .done = load_done, .drop = load_drop, .unbounded = true },
			       .groups = groups };
	r = errand_begin(groups->errands, &load->errand);
	if (r < 0)
		free(load);
	else
		groups->loading = load;
	return r;
}

/* ---- walks ---- */

struct scan {
	struct errand errand;
	struct groups *groups;
	uint64_t began_ns;
	struct groups_found found;
	bool whole;
	int result;
};

static struct scan *scan_of(struct errand *errand)
{
	return (struct scan *)((char *)errand - offsetof(struct scan, errand));
}

static void on_found(uint64_t id, uint64_t parent, const char *name, void *userdata)
{
	groups_found_add(userdata, id, parent, name);
}

static void scan_work(struct errand *errand)
{
	struct scan *scan = scan_of(errand);

	scan->result = hierarchy_walk(on_found, &scan->found, &scan->whole);
}

static void scan_drop(struct errand *errand)
{
	groups_found_done(&scan_of(errand)->found);
	free(scan_of(errand));
}

static void walk(struct groups *groups);

static void scan_take(struct groups *groups)
{
	struct scan *scan = TAKE(groups->walking);

	scan->groups = NULL;
	if (!groups->sessions)
		return;
	groups->unwalked = scan->result;
	groups->whole = scan->whole;
	if (scan->result >= 0)
		groups_table_merge(&groups->table, &scan->found, scan->began_ns,
				   scan->whole && (groups->lost_here || !groups->watched));
	if (groups->walk_again)
		walk(groups);
}

static void scan_done(struct errand *errand)
{
	struct scan *scan = scan_of(errand);

	if (scan->groups)
		scan_take(scan->groups);
	scan_drop(errand);
}

static void walk(struct groups *groups)
{
	struct scan *scan;
	int r;

	groups->walk_again = groups->walking;
	if (groups->walking)
		return;
	scan = calloc(1, sizeof(*scan));
	if (!scan) {
		groups->unwalked = -ENOMEM;
		return;
	}
	*scan = (struct scan){ .errand = { .work = scan_work, .done = scan_done, .drop = scan_drop, .unbounded = true },
			       .groups = groups, .began_ns = clocks_mono_ns() };
	r = errand_begin(groups->errands, &scan->errand);
	if (r < 0) {
		free(scan);
		groups->unwalked = r;
		return;
	}
	groups->walking = scan;
}

/* ---- cgroups that come and go ---- */

static void on_event(const struct iotr_cgroup_event *event, void *userdata)
{
	struct groups *groups = userdata;

	groups_table_add(&groups->table, event);
}

/* Where events were lost, a walk tells what became of the hierarchy. */
static void look(struct groups *groups)
{
	uint64_t lost;

	if (!groups->hierarchy)
		return;
	hierarchy_drain(groups->hierarchy);
	lost = hierarchy_lost(groups->hierarchy);
	if (lost == groups->lost)
		return;
	groups->lost_here += lost - groups->lost;
	groups->lost = lost;
	walk(groups);
}

static void watch(struct groups *groups)
{
	if (groups->loading && errand_wait(&groups->loading->errand, clocks_mono_ns() + LOAD_NS))
		load_take(groups);
	groups->watched = false;
	if (!groups->hierarchy)
		return;
	groups->refused = hierarchy_attach(groups->hierarchy, groups->event, on_event, groups);
	groups->watched = groups->refused >= 0;
	groups->lost = hierarchy_lost(groups->hierarchy);
}

/* ---- sessions ---- */

void groups_begin(struct groups *groups)
{
	if (!groups)
		return;
	if (!groups->sessions++) {
		groups->lost_here = 0;
		watch(groups);
	}
	walk(groups);
}

void groups_end(struct groups *groups)
{
	if (!groups || --groups->sessions)
		return;
	if (groups->hierarchy)
		hierarchy_detach(groups->hierarchy);
	groups_table_clear(&groups->table);
}

uint64_t groups_version(struct groups *groups)
{
	if (!groups)
		return 0;
	look(groups);
	return groups->table.version;
}

bool groups_path(struct groups *groups, uint64_t id, char *path, size_t size)
{
	char buffer[GROUPS_PATH_MAX];
	const char *found;

	if (!groups)
		return false;
	look(groups);
	found = groups_table_path(&groups->table, id, groups->whole, buffer);
	return found && (size_t)snprintf(path, size, "%s", found) < size;
}

void groups_forget(struct groups *groups, uint64_t before_ns)
{
	if (!groups)
		return;
	look(groups);
	if (groups->table.count > GROUPS_MAX / 2)
		groups_table_forget(&groups->table, before_ns);
}

/* Why the list may lack some. */
static void explain(const struct groups *groups, struct cgroup_list *list)
{
	const size_t size = sizeof(list->message);

	if (groups->unwalked == -ENOENT)
		snprintf(list->message, size, "cgroup v2 is not mounted, so cgroups have no names");
	else if (groups->unwalked < 0)
		snprintf(list->message, size, "the hierarchy of cgroups cannot be read: %s", strerror(-groups->unwalked));
	else if (groups->walking)
		snprintf(list->message, size, "the hierarchy of cgroups was not read in time");
	else if (list->left_out)
		snprintf(list->message, size, "there were more than %d cgroups", GROUPS_MAX);
	else if (!groups->watched)
		snprintf(list->message, size, "cgroups that were made and removed meanwhile are not known: %s",
			 groups->refused < 0 ? strerror(-groups->refused) : "their programs were not loaded in time");
	else if (groups->lost_here)
		snprintf(list->message, size, "of %" PRIu64 " cgroups that were made or removed too fast, those are "
			 "missing that had vanished soon", groups->lost_here);
	else if (!groups->whole)
		snprintf(list->message, size, "the root of the hierarchy is not mounted, so paths begin at an unknown place");
}

struct cgroup_list *groups_list(struct groups *groups, uint64_t since_ns)
{
	struct cgroup_list *list = groups ? cgroup_list_new() : NULL;

	if (!list)
		return NULL;
	look(groups);
	if (groups->walking && errand_wait(&groups->walking->errand, clocks_mono_ns() + WALK_NS))
		scan_take(groups);
	list->from_ns = since_ns;
	list->to_ns = clocks_mono_ns();
	if (groups->unwalked != -ENOENT && groups_table_list(&groups->table, list, groups->whole) < 0) {
		cgroup_list_free(list);
		return NULL;
	}
	explain(groups, list);
	return list;
}

/* ---- life ---- */

int groups_new(sd_event *event, struct errands *errands, struct groups **ret)
{
	struct groups *groups = calloc(1, sizeof(*groups));
	int r = -ENOMEM;

	if (groups) {
		groups->event = sd_event_ref(event);
		groups->errands = errands;
		r = load_begin(groups);
	}
	if (r < 0)
		groups_free(groups);
	else
		*ret = groups;
	return r;
}

void groups_free(struct groups *groups)
{
	if (!groups)
		return;
	hierarchy_free(groups->hierarchy);
	groups_table_clear(&groups->table);
	sd_event_unref(groups->event);
	free(groups);
}

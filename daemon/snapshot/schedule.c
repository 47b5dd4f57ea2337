// SPDX-License-Identifier: GPL-2.0-or-later
#include "schedule.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "describe.h"

/* Snapshots of one kind, at intervals. */
struct plan {
	struct schedule *schedule;
	enum snapshot_kind kind;
	uint64_t interval_us;
	sd_event_source *timer; /* NULL: none is planned */
};

struct schedule {
	struct orders *orders;
	char session[IOTR_SESSION_NAME_MAX + 1];
	int folder_fd;
	struct iotr_snapshots wanted;
	struct rights reads;
	struct snapshot_request request; /* of the last order: what differs is set anew for each */
	struct plan plans[SNAPSHOT_KIND_COUNT];
	uint32_t numbers[SNAPSHOT_KIND_COUNT]; /* number of the last snapshot of each kind */
	struct json_object *list;	       /* in the form of the manifest */
	void (*grown)(uint64_t bytes, void *userdata);
	int (*publish)(struct json_object *list, writer_handler handler, void *handler_userdata, void *userdata);
	void *userdata;
};

void schedule_resolve(struct iotr_snapshots *wanted, const struct iotr_snapshots *usual)
{
	static const struct iotr_snapshots none = { .root = "/" };

	usual = usual ?: &none;
	if (!(wanted->given & IOTR_SNAPSHOTS_SYSTEM))
		wanted->system = usual->system;
	if (!(wanted->given & IOTR_SNAPSHOTS_PROCESS))
		wanted->process_ns = usual->process_ns;
	if (!(wanted->given & IOTR_SNAPSHOTS_FILESYSTEM))
		wanted->filesystem_ns = usual->filesystem_ns;
	if (!(wanted->given & IOTR_SNAPSHOTS_ROOT))
		memcpy(wanted->root, usual->root, sizeof(wanted->root));
	if (!(wanted->given & IOTR_SNAPSHOTS_DEPTH))
		wanted->depth = usual->depth;
}

/* ---- the list ---- */

void schedule_add(struct schedule *schedule, enum snapshot_kind kind, const struct snapshot_state *state)
{
	_cleanup_json_ struct json_object *entries = snapshot_entries(kind, state);

	snapshot_entries_add(schedule->list, entries);
	schedule->grown(snapshot_stored_bytes(state), schedule->userdata);
}

int schedule_publish(struct schedule *schedule, writer_handler handler, void *userdata)
{
	struct json_object *copy = NULL;

	if (json_object_deep_copy(schedule->list, &copy, NULL) < 0)
		return -ENOMEM;
	return schedule->publish(copy, handler, userdata, schedule->userdata);
}

/* ---- orders ---- */

int schedule_order(struct schedule *schedule, const struct schedule_wish *wish, order_handler handler,
		   void *userdata)
{
	struct snapshot_request *request = &schedule->request;
	const struct order_config config = { .request = request,
					     .folder_fd = schedule->folder_fd,
					     .session = schedule->session,
					     .handler = handler,
					     .userdata = userdata };

	request->kind = wish->kind;
	request->number = ++schedule->numbers[wish->kind];
	request->depth = wish->depth;
	request->reads = *wish->reads;
	snprintf(request->root, sizeof(request->root), "%s", wish->root);
	return orders_add(schedule->orders, &config);
}

static void on_planned(enum snapshot_kind kind, const struct snapshot_state *state, void *userdata)
{
	struct schedule *schedule = userdata;

	if (!state->ended_ns)
		return;
	schedule_add(schedule, kind, state);
	schedule_publish(schedule, NULL, NULL);
}

static void order_planned(struct schedule *schedule, enum snapshot_kind kind)
{
	const struct schedule_wish wish = { kind, schedule->wanted.root, schedule->wanted.depth, &schedule->reads };

	schedule_order(schedule, &wish, on_planned, schedule);
}

/* If the last snapshot of the kind is not done yet, no other one is ordered. */
static int on_due(sd_event_source *source, uint64_t usec, void *userdata)
{
	const struct plan *plan = userdata;
	const struct schedule *schedule = plan->schedule;
	const struct snapshot_state *state;

	(void)usec;
	if (!orders_find(schedule->orders, schedule->folder_fd, plan->kind, &state))
		order_planned(plan->schedule, plan->kind);
	sd_event_source_set_time_relative(source, plan->interval_us);
	sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

static int plan(struct schedule *schedule, sd_event *event, enum snapshot_kind kind, uint64_t interval_ns)
{
	struct plan *new = &schedule->plans[kind];

	if (!interval_ns)
		return 0;
	*new = (struct plan){ .schedule = schedule, .kind = kind, .interval_us = interval_ns / 1000 };
	order_planned(schedule, kind);
	return sd_event_add_time_relative(event, &new->timer, CLOCK_MONOTONIC, new->interval_us, 0, on_due, new);
}

/* ---- life ---- */

static struct schedule *schedule_alloc(const struct schedule_config *config)
{
	struct schedule *schedule = calloc(1, sizeof(*schedule));

	if (!schedule)
		return NULL;
	schedule->orders = config->orders;
	snprintf(schedule->session, sizeof(schedule->session), "%s", config->session);
	schedule->wanted = *config->wanted;
	schedule->reads = *config->reads;
	schedule->request.writes = *config->writes;
	schedule->request.anonymize = config->key;
	if (config->key)
		memcpy(schedule->request.anonymize_key, config->key, sizeof(schedule->request.anonymize_key));
	schedule->list = json_object_new_array();
	schedule->grown = config->grown;
	schedule->publish = config->publish;
	schedule->userdata = config->userdata;
	if (schedule->wanted.process_ns)
		orders_sample(schedule->orders, true);
	return schedule;
}

static int schedule_begin(struct schedule *schedule, sd_event *event)
{
	int r;

	if (schedule->wanted.system)
		order_planned(schedule, SNAPSHOT_SYSTEM);
	r = plan(schedule, event, SNAPSHOT_PROCESS, schedule->wanted.process_ns);
	if (r >= 0)
		r = plan(schedule, event, SNAPSHOT_FILESYSTEM, schedule->wanted.filesystem_ns);
	return r;
}

/* Nothing is planned any more; what is ordered goes on. */
static void schedule_stop(struct schedule *schedule)
{
	for (size_t i = 0; i < SNAPSHOT_KIND_COUNT; i++)
		schedule->plans[i].timer = sd_event_source_disable_unref(schedule->plans[i].timer);
	if (schedule->wanted.process_ns)
		orders_sample(schedule->orders, false);
}

int schedule_new(const struct schedule_config *config, struct schedule **ret)
{
	struct schedule *schedule = schedule_alloc(config);
	int r;

	if (!schedule)
		return -ENOMEM;
	schedule->folder_fd = fcntl(config->folder_fd, F_DUPFD_CLOEXEC, 0);
	r = schedule->folder_fd < 0 ? -errno : schedule_begin(schedule, config->event);
	if (r < 0) {
		schedule_stop(schedule);
		orders_drop(schedule->orders, schedule);
		schedule_free(schedule);
		return r;
	}
	*ret = schedule;
	return 0;
}

void schedule_end(struct schedule *schedule)
{
	if (!schedule)
		return;
	schedule_stop(schedule);
	orders_end(schedule->orders, schedule->folder_fd, "the session ended before");
	schedule_publish(schedule, NULL, NULL);
}

void schedule_free(struct schedule *schedule)
{
	if (!schedule)
		return;
	explicit_bzero(&schedule->request, sizeof(schedule->request));
	json_object_put(schedule->list);
	closep(&schedule->folder_fd);
	free(schedule);
}

struct json_object *schedule_status(const struct schedule *schedule)
{
	struct json_object *status = json_object_new_object();

	for (size_t kind = 0; schedule && kind < SNAPSHOT_KIND_COUNT; kind++) {
		const struct snapshot_state *state;
		bool ordered = orders_find(schedule->orders, schedule->folder_fd, kind, &state);
		struct json_object *now = ordered ? snapshot_now(state) : snapshot_last(schedule->list, kind);

		if (now)
			json_object_object_add(status, snapshot_kind_name(kind), now);
	}
	return status;
}

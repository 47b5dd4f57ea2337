// SPDX-License-Identifier: GPL-2.0-or-later
#include "orders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "cleanup.h"
#include "clock.h"
#include "host_name.h"
#include "log.h"

#define GRACE_MS 250 /* time that orders_end() gives to a short snapshot */

struct order {
	TAILQ_ENTRY(order) entry;
	struct orders *orders;
	struct snapshot *running; /* NULL: it waits for its turn */
	struct snapshot_request request;
	int folder_fd; /* not owned */
	const char *session;
	order_handler handler;
	void *userdata;
};

enum { LANE_SHORT, LANE_WALK, LANE_COUNT };

struct orders {
	struct orders_config config;
	TAILQ_HEAD(lane, order) lanes[LANE_COUNT]; /* only the first of each lane runs */
	sd_event_source *start;			   /* starts the first order of each lane, when the loop is idle */
	struct sampler *sampler;		   /* NULL: not needed yet */
	unsigned int samples_wanted;		   /* by so many */
};

#define FOR_EACH_ORDER(orders, order)                                                              \
	for (size_t _lane = 0; _lane < LANE_COUNT; _lane++)                                        \
		TAILQ_FOREACH (order, &(orders)->lanes[_lane], entry)

/* ---- the sampler ---- */

static void sampler_adapt(struct orders *orders)
{
	if (orders->sampler)
		sampler_run(orders->sampler, orders->samples_wanted > 0);
}

static int sampler_ensure(struct orders *orders)
{
	int r = orders->sampler ? 0 : sampler_new(orders->config.event, &orders->sampler);

	if (r >= 0)
		sampler_adapt(orders);
	return r;
}

void orders_sample(struct orders *orders, bool want)
{
	orders->samples_wanted += want ? 1 : -1;
	sampler_adapt(orders);
}

int orders_each_process(struct orders *orders, void (*each)(const struct iotr_task *task, void *userdata),
			void *userdata)
{
	int r = sampler_ensure(orders);

	return r < 0 ? r : sampler_each(orders->sampler, each, userdata);
}

int orders_each_thread(struct orders *orders, void (*each)(const struct iotr_task_head *thread, void *userdata),
		       void *userdata)
{
	int r = sampler_ensure(orders);

	return r < 0 ? r : sampler_each_thread(orders->sampler, each, userdata);
}

/* ---- the end of an order ---- */

static struct lane *lane_of(struct orders *orders, enum snapshot_kind kind)
{
	return &orders->lanes[kind == SNAPSHOT_FILESYSTEM ? LANE_WALK : LANE_SHORT];
}

static void lanes_start_soon(struct orders *orders)
{
	sd_event_source_set_enabled(orders->start, SD_EVENT_ONESHOT);
}

static void order_free(struct order *order)
{
	TAILQ_REMOVE(lane_of(order->orders, order->request.kind), order, entry);
	snapshot_free(order->running);
	lanes_start_soon(order->orders);
	explicit_bzero(&order->request, sizeof(order->request));
	free(order);
}

/* The order is gone when its handler is called. */
static void order_end(struct order *order, const struct snapshot_state *state)
{
	const struct snapshot_state last = *state; /* which may belong to the order */
	enum snapshot_kind kind = order->request.kind;
	order_handler handler = order->handler;
	void *userdata = order->userdata;

	if (last.error && last.error != -ECANCELED)
		log_message(ABOUT(SNAPSHOT_FAILED, .session = order->session, .error = -last.error),
			    "%s snapshot%s%s failed: %s", snapshot_kind_name(kind),
			    order->session ? " of session " : "", order->session ?: "", last.message);
	order_free(order);
	handler(kind, &last, userdata);
}

static void order_fail(struct order *order, int r, const char *what)
{
	struct snapshot_state state = { .error = r };

	state.started_ns = state.ended_ns = clock_ns(CLOCK_REALTIME);
	snprintf(state.message, sizeof(state.message), "%s: %s", what, strerror(-r));
	order_end(order, &state);
}

static void order_cancel(struct order *order, const char *why)
{
	struct snapshot_state state = { .error = -ECANCELED, .ended_ns = clock_ns(CLOCK_REALTIME) };

	state.started_ns = order->running ? snapshot_state(order->running)->started_ns : 0;
	snprintf(state.message, sizeof(state.message), "%s", why);
	order_end(order, &state);
}

/* ---- its begin ---- */

static void on_state(const struct snapshot_state *state, void *userdata)
{
	struct order *order = userdata;

	if (state->ended_ns)
		order_end(order, state);
	else
		order->handler(order->request.kind, state, order->userdata);
}

/* The order ends in the handler, or before this returns. */
static void order_start(struct order *order)
{
	const struct orders_config *config = &order->orders->config;
	_cleanup_close_ int tasks = -1;
	int r;

	if (order->request.kind == SNAPSHOT_PROCESS) {
		r = sampler_ensure(order->orders);
		tasks = r < 0 ? r : sampler_take(order->orders->sampler);
		if (tasks < 0) {
			order_fail(order, tasks, "the kernel does not list its tasks");
			return;
		}
	}
	snprintf(order->request.country, sizeof(order->request.country), "%s", *config->country ?: "");
	host_name(order->request.host);
	r = snapshot_new(config->event, config->program, &order->request, order->folder_fd, tasks, on_state, order,
			 &order->running);
	if (r < 0)
		order_fail(order, r, "no process can be started for it");
}

static int lanes_start(sd_event_source *source, void *userdata)
{
	struct orders *orders = userdata;

	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	for (size_t i = 0; i < LANE_COUNT; i++) {
		struct order *first = TAILQ_FIRST(&orders->lanes[i]);

		if (first && !first->running)
			order_start(first);
	}
	return 0;
}

/* ---- all of them ---- */

int orders_add(struct orders *orders, const struct order_config *config)
{
	struct order *order = calloc(1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	order->orders = orders;
	order->request = *config->request;
	order->folder_fd = config->folder_fd;
	order->session = config->session;
	order->handler = config->handler;
	order->userdata = config->userdata;
	TAILQ_INSERT_TAIL(lane_of(orders, order->request.kind), order, entry);
	lanes_start_soon(orders);
	return 0;
}

bool orders_find(const struct orders *orders, int folder_fd, enum snapshot_kind kind,
		 const struct snapshot_state **state)
{
	const struct order *order;

	FOR_EACH_ORDER (orders, order) {
		if (order->folder_fd != folder_fd || order->request.kind != kind)
			continue;
		*state = order->running ? snapshot_state(order->running) : NULL;
		return true;
	}
	return false;
}

/* The result of one that has ended is read here, as the loop does not run. */
static bool has_ended(struct order *order)
{
	return order->running && order->request.kind != SNAPSHOT_FILESYSTEM && snapshot_wait(order->running, GRACE_MS);
}

static struct order *first_into(const struct orders *orders, int folder_fd)
{
	struct order *order;

	FOR_EACH_ORDER (orders, order)
		if (order->folder_fd == folder_fd)
			return order;
	return NULL;
}

/* A handler may drop other orders, so the search starts anew each time. */
void orders_end(struct orders *orders, int folder_fd, const char *why)
{
	struct order *order;

	while ((order = first_into(orders, folder_fd)))
		if (has_ended(order))
			order_end(order, snapshot_state(order->running));
		else
			order_cancel(order, why);
}

static struct order *first_with(const struct orders *orders, const void *userdata)
{
	struct order *order;

	FOR_EACH_ORDER (orders, order)
		if (order->userdata == userdata)
			return order;
	return NULL;
}

void orders_drop(struct orders *orders, const void *userdata)
{
	struct order *order;

	while ((order = first_with(orders, userdata)))
		order_free(order);
}

int orders_new(const struct orders_config *config, struct orders **ret)
{
	struct orders *orders = calloc(1, sizeof(*orders));
	int r;

	if (!orders)
		return -ENOMEM;
	orders->config = *config;
	for (size_t i = 0; i < LANE_COUNT; i++)
		TAILQ_INIT(&orders->lanes[i]);
	r = sd_event_add_defer(config->event, &orders->start, lanes_start, orders);
	if (r >= 0)
		r = sd_event_source_set_priority(orders->start, SD_EVENT_PRIORITY_IDLE);
	if (r >= 0)
		r = sd_event_source_set_enabled(orders->start, SD_EVENT_OFF);
	if (r < 0) {
		orders_free(orders);
		return r;
	}
	*ret = orders;
	return 0;
}

void orders_free(struct orders *orders)
{
	if (!orders)
		return;
	sd_event_source_disable_unref(orders->start);
	sampler_free(orders->sampler);
	free(orders);
}

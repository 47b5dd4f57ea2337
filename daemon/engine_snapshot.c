// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Snapshots of sessions, on a schedule, and those that somebody asks for. Each is an order; one
 * walk of a file system is under way at a time, and one of the others beside it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "engine_internal.h"
#include "engine_snapshot.h"
#include "log.h"
#include "pipeline/manifest.h"
#include "snapshot/sampler.h"
#include "snapshot/snapshot.h"

#define GRACE_MS 250 /* what a session's end leaves to a short snapshot */

struct order {
	TAILQ_ENTRY(order) entry;
	enum snapshot_kind kind;
	struct session *session;       /* NULL: in a folder of its own */
	struct engine_snapshot *asked; /* NULL: on schedule */
	struct snapshots *all;
	struct snapshot *running; /* NULL: it waits */
	struct snapshot_request request;
	int folder_fd; /* not owned */
};

TAILQ_HEAD(orders, order);

enum { LANE_SHORT, LANE_WALK, LANE_COUNT };

struct snapshots {
	struct engine *engine;
	struct orders lanes[LANE_COUNT]; /* of each the first runs */
	sd_event_source *start;		 /* looks after the lanes when there is nothing else to do */
	struct sampler *sampler;	 /* NULL: not needed yet */
};

/* Of a session. */
struct session_snapshots {
	int folder_fd;
	sd_event_source *timers[SNAPSHOT_KIND_COUNT];
	uint32_t numbers[SNAPSHOT_KIND_COUNT]; /* the last that was given */
	struct json_object *list;	       /* as the manifest has it */
	bool ended;
};

struct engine_snapshot {
	struct snapshots *all;
	struct session *session;
	char output[PATH_MAX];
	int folder_fd;
	bool folder_ours; /* made for this, and removed if nothing comes into it */
	unsigned int left;
	bool any; /* one was taken */
	uint64_t stored; /* bytes of all files */
	uint32_t owner_uid;
	bool anonymize; /* in a folder of its own, by this key */
	uint8_t anonymize_key[IOTR_ANONYMIZE_KEY_SIZE];
	struct json_object *list;
	struct engine_error error;
	engine_snapshot_handler handler;
	void *userdata;
};

int engine_snapshot_kind(const char *name)
{
	return snapshot_kind_find(name);
}

/* ---- the sampler ---- */

static bool sampler_wanted(const struct engine *engine)
{
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++) {
		const struct session *session = engine->sessions[i];

		if (session && session->snapshots && session->spec.snapshots.process_ns &&
		    !session->snapshots->ended)
			return true;
	}
	return false;
}

static int sampler_ensure(struct snapshots *all)
{
	int r = all->sampler ? 0 : sampler_new(all->engine->event, &all->sampler);

	if (r < 0)
		return r;
	sampler_run(all->sampler, sampler_wanted(all->engine));
	return 0;
}

/* ---- orders ---- */

static struct orders *lane_of(struct snapshots *all, enum snapshot_kind kind)
{
	return &all->lanes[kind == SNAPSHOT_FILESYSTEM ? LANE_WALK : LANE_SHORT];
}

static void lanes_start_soon(struct snapshots *all);

static void order_free(struct order *order)
{
	TAILQ_REMOVE(lane_of(order->all, order->kind), order, entry);
	snapshot_free(order->running);
	lanes_start_soon(order->all);
	explicit_bzero(&order->request, sizeof(order->request));
	free(order);
}

static void asked_done(struct engine_snapshot *asked)
{
	struct json_object *done = json_object_new_object();

	json_object_object_add(done, "output", json_object_new_string(asked->output));
	json_object_object_add(done, "snapshots", json_object_get(asked->list));
	asked->handler(NULL, done, &asked->error, asked->userdata);
}

static uint64_t stored_bytes(const struct snapshot_state *state)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < state->file_count && i < SNAPSHOT_FILES_MAX; i++)
		bytes += state->files[i].stored_bytes;
	return bytes;
}

/* For whoever asked: the first error is what is told when nothing was taken. */
static void asked_told(struct engine_snapshot *asked, struct json_object *entries,
		       const struct snapshot_state *state)
{
	snapshot_entries_add(asked->list, entries);
	asked->any |= !state->error;
	asked->stored += stored_bytes(state);
	if (asked->any)
		asked->error.message[0] = '\0';
	else if (!asked->error.message[0])
		snprintf(asked->error.message, sizeof(asked->error.message), "%s", state->message);
}

/* What the order has come to: into the list of its session, and to whoever asked. */
static void order_ended(struct order *order, const struct snapshot_state *state)
{
	_cleanup_json_ struct json_object *entries = snapshot_entries(order->kind, state);
	struct engine_snapshot *asked = order->asked;
	struct session *session = order->session;

	if (state->error && state->error != -ECANCELED)
		log_warning("%s snapshot%s%s: %s", snapshot_kind_name(order->kind),
			    session ? " of session " : "", session ? session->spec.name : "",
			    state->message);
	if (session) {
		snapshot_entries_add(session->snapshots->list, entries);
		trace_grown(session->trace, stored_bytes(state));
	}
	if (asked)
		asked_told(asked, entries, state);
}

static void session_tell_writer(struct session *session)
{
	struct json_object *copy = NULL;

	if (json_object_deep_copy(session->snapshots->list, &copy, NULL) >= 0)
		writer_snapshots(session->writer, copy);
}

static void order_finish(struct order *order, const struct snapshot_state *state)
{
	struct engine_snapshot *asked = order->asked;
	struct session *session = order->session;

	order_ended(order, state);
	order_free(order);
	if (session)
		session_tell_writer(session);
	if (asked && !--asked->left)
		asked_done(asked);
}

static void on_state(const struct snapshot_state *state, void *userdata)
{
	struct order *order = userdata;

	if (state->ended_ns) {
		const struct snapshot_state last = *state;

		order_finish(order, &last);
	} else if (order->asked) {
		order->asked->handler(snapshot_progress(order->kind, state), NULL,
				      &order->asked->error, order->asked->userdata);
	}
}

static uint64_t realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void order_fail(struct order *order, int r, const char *what)
{
	struct snapshot_state state = { .error = r };

	state.started_ns = state.ended_ns = realtime_ns();
	snprintf(state.message, sizeof(state.message), "%s: %s", what, strerror(-r));
	order_finish(order, &state);
}

/* Its end comes through the handler, or has come when this returns. */
static void order_start(struct order *order)
{
	struct snapshots *all = order->all;
	_cleanup_close_ int tasks = -1;
	int r;

	if (order->kind == SNAPSHOT_PROCESS) {
		r = sampler_ensure(all);
		tasks = r < 0 ? r : sampler_take(all->sampler);
		if (tasks < 0) {
			order_fail(order, tasks, "the kernel does not list its tasks");
			return;
		}
	}
	snprintf(order->request.country, sizeof(order->request.country), "%s",
		 all->engine->config.country ?: "");
	r = snapshot_new(all->engine->event, NULL, &order->request, order->folder_fd, tasks, on_state,
			 order, &order->running);
	if (r < 0)
		order_fail(order, r, "no process can be started for it");
}

static int lanes_start(sd_event_source *source, void *userdata)
{
	struct snapshots *all = userdata;

	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	for (size_t i = 0; i < LANE_COUNT; i++) {
		struct order *first = TAILQ_FIRST(&all->lanes[i]);

		if (first && !first->running)
			order_start(first);
	}
	return 0;
}

static void lanes_start_soon(struct snapshots *all)
{
	sd_event_source_set_enabled(all->start, SD_EVENT_ONESHOT);
}

/* Replies go out first. */
int snapshots_new(struct engine *engine, struct snapshots **ret)
{
	struct snapshots *all = calloc(1, sizeof(*all));
	int r;

	if (!all)
		return -ENOMEM;
	all->engine = engine;
	for (size_t i = 0; i < LANE_COUNT; i++)
		TAILQ_INIT(&all->lanes[i]);
	r = sd_event_add_defer(engine->event, &all->start, lanes_start, all);
	if (r >= 0)
		r = sd_event_source_set_priority(all->start, SD_EVENT_PRIORITY_IDLE);
	if (r >= 0)
		r = sd_event_source_set_enabled(all->start, SD_EVENT_OFF);
	if (r < 0) {
		snapshots_free(all);
		return r;
	}
	*ret = all;
	return 0;
}

void snapshots_free(struct snapshots *all)
{
	if (!all)
		return;
	sd_event_source_disable_unref(all->start);
	sampler_free(all->sampler);
	free(all);
}

/* The key of whoever it is for; NULL: names stay in the clear. */
static const uint8_t *key_of(const struct session *session, const struct engine_snapshot *asked)
{
	if (session)
		return session->anonymizer ? session->anonymize_key : NULL;
	return asked->anonymize ? asked->anonymize_key : NULL;
}

/* Adds an order; `root` and `depth` are for walks. */
static int order_add(struct snapshots *all, enum snapshot_kind kind, struct session *session,
		     struct engine_snapshot *asked, const char *root, uint32_t depth)
{
	struct order *order = calloc(1, sizeof(*order));
	const uint8_t *key = key_of(session, asked);

	if (!order)
		return -ENOMEM;
	order->kind = kind;
	order->all = all;
	order->session = session;
	order->asked = asked;
	order->folder_fd = session ? session->snapshots->folder_fd : asked->folder_fd;
	order->request.kind = kind;
	order->request.number = session ? ++session->snapshots->numbers[kind] : 1;
	order->request.depth = depth;
	snprintf(order->request.root, sizeof(order->request.root), "%s", root);
	order->request.anonymize = key;
	if (key)
		memcpy(order->request.anonymize_key, key, IOTR_ANONYMIZE_KEY_SIZE);
	TAILQ_INSERT_TAIL(lane_of(all, kind), order, entry);
	lanes_start_soon(all);
	return 0;
}

#define FOR_EACH_ORDER(all, order, next)                                                           \
	for (size_t _lane = 0; _lane < LANE_COUNT; _lane++)                                        \
		for (struct order *order = TAILQ_FIRST(&(all)->lanes[_lane]), *next;               \
		     order && (next = TAILQ_NEXT(order, entry), true); order = next)

static const struct order *order_of(const struct session *session, enum snapshot_kind kind)
{
	FOR_EACH_ORDER (session->engine->snapshots, order, next)
		if (order->session == session && order->kind == kind)
			return order;
	return NULL;
}

/* ---- sessions ---- */

void session_snapshots_resolve(const struct engine *engine, struct iotr_snapshots *snapshots)
{
	static const struct iotr_snapshots none = { .root = "/" };
	const struct iotr_snapshots *usual = engine->config.snapshots ?: &none;

	if (!(snapshots->given & IOTR_SNAPSHOTS_SYSTEM))
		snapshots->system = usual->system;
	if (!(snapshots->given & IOTR_SNAPSHOTS_PROCESS))
		snapshots->process_ns = usual->process_ns;
	if (!(snapshots->given & IOTR_SNAPSHOTS_FILESYSTEM))
		snapshots->filesystem_ns = usual->filesystem_ns;
	if (!(snapshots->given & IOTR_SNAPSHOTS_ROOT))
		memcpy(snapshots->root, usual->root, sizeof(snapshots->root));
	if (!(snapshots->given & IOTR_SNAPSHOTS_DEPTH))
		snapshots->depth = usual->depth;
}

static void session_order(struct session *session, enum snapshot_kind kind)
{
	const struct iotr_snapshots *wanted = &session->spec.snapshots;

	order_add(session->engine->snapshots, kind, session, NULL, wanted->root, wanted->depth);
}

static uint64_t interval_us(const struct session *session, enum snapshot_kind kind)
{
	const struct iotr_snapshots *wanted = &session->spec.snapshots;

	return (kind == SNAPSHOT_PROCESS ? wanted->process_ns : wanted->filesystem_ns) / 1000;
}

/* One that is still waited for is not ordered again. */
static void session_due(sd_event_source *source, struct session *session, enum snapshot_kind kind)
{
	if (!order_of(session, kind))
		session_order(session, kind);
	sd_event_source_set_time_relative(source, interval_us(session, kind));
	sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_process_due(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)usec;
	session_due(source, userdata, SNAPSHOT_PROCESS);
	return 0;
}

static int on_filesystem_due(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)usec;
	session_due(source, userdata, SNAPSHOT_FILESYSTEM);
	return 0;
}

static int session_schedule(struct session *session, enum snapshot_kind kind,
			    sd_event_time_handler_t handler)
{
	uint64_t interval = interval_us(session, kind);

	if (!interval)
		return 0;
	session_order(session, kind);
	return sd_event_add_time_relative(session->engine->event, &session->snapshots->timers[kind],
					  CLOCK_MONOTONIC, interval, 0, handler, session);
}

int session_snapshots_begin(struct session *session, int folder_fd)
{
	struct session_snapshots *own = calloc(1, sizeof(*own));
	int r;

	if (!own)
		return -ENOMEM;
	session->snapshots = own;
	own->list = json_object_new_array();
	own->folder_fd = fcntl(folder_fd, F_DUPFD_CLOEXEC, 0);
	if (own->folder_fd < 0)
		return -errno;
	if (session->spec.snapshots.system)
		session_order(session, SNAPSHOT_SYSTEM);
	r = session_schedule(session, SNAPSHOT_PROCESS, on_process_due);
	if (r >= 0)
		r = session_schedule(session, SNAPSHOT_FILESYSTEM, on_filesystem_due);
	return r;
}

static void order_cancel(struct order *order)
{
	struct snapshot_state state = { .error = -ECANCELED, .message = "the session ended before" };
	const struct snapshot_state *last = order->running ? snapshot_state(order->running) : NULL;
	struct engine_snapshot *asked = order->asked;

	state.ended_ns = realtime_ns();
	state.started_ns = last ? last->started_ns : 0;
	order_ended(order, &state);
	order_free(order);
	if (asked && !--asked->left)
		asked_done(asked);
}

/* Short ones that are under way get a moment; their state is taken up here, not by the loop. */
static void session_cancel(struct session *session)
{
	FOR_EACH_ORDER (session->engine->snapshots, order, next) {
		if (order->session != session)
			continue;
		if (order->running && order->kind != SNAPSHOT_FILESYSTEM &&
		    snapshot_wait(order->running, GRACE_MS)) {
			const struct snapshot_state last = *snapshot_state(order->running);

			order_finish(order, &last);
		} else {
			order_cancel(order);
		}
	}
}

void session_snapshots_end(struct session *session)
{
	struct session_snapshots *own = session->snapshots;

	if (!own)
		return;
	for (size_t i = 0; i < SNAPSHOT_KIND_COUNT; i++)
		own->timers[i] = sd_event_source_disable_unref(own->timers[i]);
	session_cancel(session);
	session_tell_writer(session);
	own->ended = true;
	if (session->engine->snapshots->sampler)
		sampler_run(session->engine->snapshots->sampler, sampler_wanted(session->engine));
}

void session_snapshots_free(struct session *session)
{
	struct session_snapshots *own = session->snapshots;

	if (!own)
		return;
	FOR_EACH_ORDER (session->engine->snapshots, order, next)
		if (order->session == session)
			order_free(order);
	for (size_t i = 0; i < SNAPSHOT_KIND_COUNT; i++)
		sd_event_source_disable_unref(own->timers[i]);
	json_object_put(own->list);
	closep(&own->folder_fd);
	free(own);
}

struct json_object *session_snapshots_status(const struct session *session)
{
	struct json_object *status = json_object_new_object();

	for (size_t kind = 0; session->snapshots && kind < SNAPSHOT_KIND_COUNT; kind++) {
		const struct order *order = order_of(session, kind);
		const struct snapshot_state *state =
			order && order->running ? snapshot_state(order->running) : NULL;
		struct json_object *now;

		now = order ? snapshot_under_way(state)
			    : snapshot_last(session->snapshots->list, kind);
		if (now)
			json_object_object_add(status, snapshot_kind_name(kind),
					       anonymize_snapshot(session, now));
	}
	return status;
}

/* ---- those that are asked for ---- */

static int asked_folder(struct engine_snapshot *asked, const struct engine_snapshot_request *request,
			struct engine_error *error)
{
	const char *log_dir = asked->all->engine->config.log_dir;

	if (request->output) {
		snprintf(asked->output, sizeof(asked->output), "%s", request->output);
		asked->folder_fd =
			output_create(asked->output, error->message, sizeof(error->message));
	} else {
		asked->folder_ours = true;
		asked->folder_fd = output_create_default(log_dir, "snapshots", time(NULL),
							 asked->output, error->message,
							 sizeof(error->message));
	}
	return asked->folder_fd < 0 ? engine_fail(error, asked->folder_fd, "output", NULL) : 0;
}

/* A session's snapshots are as its rows are: other hashed names beside names in the clear hide nothing. */
static int asked_anonymize(struct engine_snapshot *asked, const struct engine_snapshot_request *request,
			   struct engine_error *error)
{
	int r;

	if (!request->anonymize || (asked->session && asked->session->anonymizer))
		return 0;
	if (asked->session)
		return engine_fail(error, -EINVAL, "anonymize",
				   "the session has its names in the clear: ask for a folder of its own");
	r = anonymize_key(asked->all->engine, asked->anonymize_key, error);
	asked->anonymize = r >= 0;
	return r;
}

static int asked_place(struct engine_snapshot *asked, const struct engine_snapshot_request *request,
		       struct engine_error *error)
{
	int r;

	asked->session = request->name ? engine_find(asked->all->engine, request->name) : NULL;
	if (request->name && (!asked->session || !asked->session->snapshots))
		return -ENOENT;
	r = asked_anonymize(asked, request, error);
	if (r < 0)
		return r;
	if (!asked->session)
		return asked_folder(asked, request, error);
	memcpy(asked->output, asked->session->output, sizeof(asked->output));
	return 0;
}

static int asked_orders(struct engine_snapshot *asked, const struct engine_snapshot_request *request)
{
	struct iotr_snapshots wanted = { 0 };
	uint32_t kinds = request->kinds ?: (1U << SNAPSHOT_KIND_COUNT) - 1;
	int r = 0;

	session_snapshots_resolve(asked->all->engine, &wanted);
	if (asked->session)
		wanted = asked->session->spec.snapshots;
	for (size_t kind = 0; kind < SNAPSHOT_KIND_COUNT && r >= 0; kind++) {
		if (!(kinds >> kind & 1))
			continue;
		r = order_add(asked->all, kind, asked->session, asked, request->root ?: wanted.root,
			      request->depth >= 0 ? (uint32_t)request->depth : wanted.depth);
		asked->left += r >= 0;
	}
	return r;
}

int engine_snapshot_new(struct engine *engine, const struct engine_snapshot_request *request,
			engine_snapshot_handler handler, void *userdata,
			struct engine_snapshot **ret, struct engine_error *error)
{
	struct engine_snapshot *asked = calloc(1, sizeof(*asked));
	int r;

	if (!asked)
		return engine_fail(error, -ENOMEM, "", "out of memory");
	asked->all = engine->snapshots;
	asked->folder_fd = -1;
	asked->handler = handler;
	asked->userdata = userdata;
	asked->owner_uid = request->owner_uid;
	asked->list = json_object_new_array();
	r = asked_place(asked, request, error);
	if (r >= 0)
		r = asked_orders(asked, request);
	if (r < 0) {
		engine_snapshot_free(asked);
		return r;
	}
	*ret = asked;
	return 0;
}

/* It counts among all traces from now on. */
static struct trace *asked_trace(const struct engine_snapshot *asked)
{
	const struct trace_config config = { .folder_fd = asked->folder_fd, .path = asked->output };
	struct trace *trace = NULL;

	if (storage_add(asked->all->engine->storage, &config, &trace) < 0)
		log_warning("%s: no memory to count its files", asked->output);
	trace_grown(trace, asked->stored);
	return trace;
}

/* A folder of its own has a manifest of its own, or is gone when nothing came into it. */
static void asked_close_folder(struct engine_snapshot *asked)
{
	struct manifest_config config = { .folder_fd = asked->folder_fd,
					  .owner_uid = asked->owner_uid,
					  .anonymize_key = key_of(NULL, asked) };
	struct manifest_state state = { .reason = "done" };
	struct manifest manifest = { 0 };
	struct json_object *copy = NULL;

	if (!asked->any) {
		snapshot_folders_remove(asked->folder_fd);
		if (asked->folder_ours)
			rmdir(asked->output);
		return;
	}
	config.trace = asked_trace(asked);
	config.start = state.clocks = clocks_measure();
	if (json_object_deep_copy(asked->list, &copy, NULL) >= 0 &&
	    manifest_init(&manifest, &config) >= 0) {
		manifest_set_snapshots(&manifest, copy);
		if (manifest_write(&manifest, &state) < 0)
			log_warning("%s: the manifest cannot be written", asked->output);
	}
	manifest_done(&manifest);
	trace_free(config.trace);
}

void engine_snapshot_free(struct engine_snapshot *asked)
{
	if (!asked)
		return;
	FOR_EACH_ORDER (asked->all, order, next)
		if (order->asked == asked)
			order_free(order);
	if (asked->folder_fd >= 0) {
		asked_close_folder(asked);
		close(asked->folder_fd);
	}
	explicit_bzero(asked->anonymize_key, sizeof(asked->anonymize_key));
	json_object_put(asked->list);
	free(asked);
}

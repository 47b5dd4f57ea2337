// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/registry.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cleanup.h"
#include "pipeline/clocks.h"
#include "session/admission.h"
#include "session/describe.h"
#include "units.h"

/* Time that the daemon's end gives to writers for their last rows; systemd waits for 90 s. */
#define ENDS_NS	  45000000000ULL
#define STARTS_NS 2000000000ULL /* time that it gives to sessions that are starting */

/*
 * All flight recorders together may have a quarter of the machine's memory: as much again is used while all of
 * them are dumped.
 */
#define RECORDERS_SHARE 4

/* A request that waits for a session's end. */
struct waiter {
	struct waiter *next;
	engine_handler handler;
	void *userdata;
};

struct entry {
	struct registry *registry;
	struct session *session;
	engine_start_handler start_handler; /* called when the start has ended; NULL: it was, or nobody waits */
	void *start_userdata;
	struct waiter *waiters;
};

struct registry {
	struct registry_config config;
	struct entry *entries[IOTR_SESSIONS_MAX]; /* in the order of their starts */
	size_t count;
	struct json_object *ended[ENDED_MAX]; /* final status, oldest first */
	size_t ended_count;
};

int registry_new(const struct registry_config *config, struct registry **ret)
{
	struct registry *registry = calloc(1, sizeof(*registry));

	if (!registry)
		return -ENOMEM;
	registry->config = *config;
	*ret = registry;
	return 0;
}

void registry_free(struct registry *registry)
{
	if (!registry)
		return;
	for (size_t i = 0; i < registry->ended_count; i++)
		json_object_put(registry->ended[i]);
	free(registry);
}

struct session *registry_at(const struct registry *registry, size_t i)
{
	return i < registry->count ? registry->entries[i]->session : NULL;
}

struct session *registry_find(const struct registry *registry, const char *name)
{
	for (size_t i = 0; i < registry->count; i++)
		if (!strcmp(registry->entries[i]->session->spec.name, name))
			return registry->entries[i]->session;
	return NULL;
}

struct session *registry_find_running(const struct registry *registry, const char *name)
{
	struct session *session = registry_find(registry, name);

	return session && session->state == SESSION_RUNNING ? session : NULL;
}

/* ---- ended sessions ---- */

static void ended_remove(struct registry *registry, size_t i)
{
	memmove(registry->ended + i, registry->ended + i + 1,
		(--registry->ended_count - i) * sizeof(registry->ended[0]));
}

/* The last status of that name, which becomes the caller's, or NULL. */
static struct json_object *ended_take(struct registry *registry, const char *name)
{
	for (size_t i = 0; i < registry->ended_count; i++) {
		struct json_object *status = registry->ended[i];

		if (strcmp(json_object_get_string(json_object_object_get(status, "name")), name) != 0)
			continue;
		ended_remove(registry, i);
		return status;
	}
	return NULL;
}

/* Keeps the last status; the oldest is dropped if there are too many. */
static void ended_keep(struct registry *registry, struct json_object *status)
{
	if (registry->ended_count == ENDED_MAX) {
		json_object_put(registry->ended[0]);
		ended_remove(registry, 0);
	}
	registry->ended[registry->ended_count++] = status;
}

int registry_status(const struct registry *registry, const char *name, struct json_object **ret)
{
	_cleanup_json_ struct json_object *sessions = json_object_new_array();

	for (size_t i = 0; i < registry->ended_count; i++) {
		const char *of = json_object_get_string(json_object_object_get(registry->ended[i], "name"));

		if ((!name || !strcmp(of, name)) && !registry_find(registry, of))
			json_object_array_add(sessions, json_object_get(registry->ended[i]));
	}
	for (size_t i = 0; i < registry->count; i++)
		if (!name || !strcmp(registry->entries[i]->session->spec.name, name))
			json_object_array_add(sessions, describe_session(registry->entries[i]->session));
	if (name && !json_object_array_length(sessions))
		return -ENOENT;
	*ret = TAKE(sessions);
	return 0;
}

/* ---- a session's events ---- */

static void on_started(struct session *session, int result, const struct engine_error *error)
{
	struct entry *entry = session->userdata;
	struct registry *registry = entry->registry;
	engine_start_handler handler = entry->start_handler;

	if (result >= 0) {
		json_object_put(ended_take(registry, session->spec.name));
		rates_begin(session);
		registry->config.runs(registry->config.userdata);
	}
	entry->start_handler = NULL;
	if (handler)
		handler(result, result < 0 ? NULL : describe_session(session), error, entry->start_userdata);
}

static void entry_remove(struct registry *registry, const struct entry *entry)
{
	size_t i = 0;

	while (registry->entries[i] != entry)
		i++;
	memmove(registry->entries + i, registry->entries + i + 1,
		(--registry->count - i) * sizeof(registry->entries[0]));
}

static void on_ended(struct session *session)
{
	_cleanup_free_ struct entry *entry = session->userdata;
	_cleanup_json_ struct json_object *status = describe_session(session);
	struct registry *registry = entry->registry;
	struct waiter *waiter = entry->waiters, *next;

	entry_remove(registry, entry);
	if (session->state == SESSION_ENDED)
		registry->config.ended(session, registry->config.userdata);
	if (!waiter && session->state == SESSION_ENDED)
		ended_keep(registry, json_object_get(status));
	session_free(session);
	for (; waiter; waiter = next) {
		next = waiter->next;
		waiter->handler(0, json_object_get(status), waiter->userdata);
		free(waiter);
	}
	malloc_trim(0); /* return the memory of its threads' heaps to the kernel */
}

static const struct session_events events = { .started = on_started, .ended = on_ended };

/* ---- start and stop ---- */

static int check_recorder(const struct registry *registry, uint64_t size, struct engine_error *error)
{
	uint64_t left = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / RECORDERS_SHARE;
	char wanted[32], there[32];

	for (size_t i = 0; i < registry->count; i++) {
		uint64_t taken = registry->entries[i]->session->spec.flight_recorder;

		left -= taken < left ? taken : left;
	}
	if (size <= left)
		return 0;
	snprintf(error->message, sizeof(error->message),
		 "%s is more than flight recorders may still have here: %s, as all of them "
		 "together may have a quarter of the machine's memory",
		 iotr_format_size(wanted, sizeof(wanted), size), iotr_format_size(there, sizeof(there), left));
	return engine_fail(error, -EINVAL, "flight_recorder", NULL);
}

static int check(const struct registry *registry, const struct iotr_session_spec *spec, struct engine_error *error)
{
	int r;

	if (registry_find(registry, spec->name))
		return engine_fail(error, -EEXIST, "name", "a session of that name is running");
	r = admission_check(spec, error);
	return r < 0 ? r : check_recorder(registry, spec->flight_recorder, error);
}

/* Makes the session and its entry, which has a free slot. */
static int entry_new(struct registry *registry, const struct iotr_session_spec *spec, const struct rights *owner,
		     struct entry **ret, struct engine_error *error)
{
	struct session_context *context = registry->config.context;
	_cleanup_free_ struct entry *entry = calloc(1, sizeof(*entry));
	int bit = slots_find(&context->slots), r;

	if (bit < 0 || registry->count == IOTR_SESSIONS_MAX)
		return engine_fail(error, -ENOSPC, "", "64 sessions are running, which is the limit");
	r = entry ? session_new(context, spec, owner, bit, &events, entry, &entry->session) : -ENOMEM;
	if (r < 0)
		return engine_fail(error, r, "", "out of memory");
	entry->registry = registry;
	registry->entries[registry->count++] = entry;
	*ret = TAKE(entry);
	return 0;
}

int registry_start(struct registry *registry, const struct iotr_session_spec *spec, const struct rights *owner,
		   const struct running_note *before, engine_start_handler handler, void *userdata,
		   struct engine_error *error)
{
	struct entry *entry = NULL;
	int r = check(registry, spec, error);

	if (r < 0)
		return r;
	r = entry_new(registry, spec, owner, &entry, error);
	if (r < 0)
		return r;
	entry->start_handler = handler;
	entry->start_userdata = userdata;
	r = session_open(entry->session, before, error);
	if (r >= 0)
		return 0;
	entry_remove(registry, entry);
	session_free(entry->session);
	free(entry);
	return r;
}

static int wait_for_end(struct entry *entry, engine_handler handler, void *userdata)
{
	struct waiter *waiter = calloc(1, sizeof(*waiter));

	if (!waiter)
		return -ENOMEM;
	*waiter = (struct waiter){ entry->waiters, handler, userdata };
	entry->waiters = waiter;
	return 0;
}

int registry_stop(struct registry *registry, const char *name, engine_handler handler, void *userdata)
{
	struct session *session = registry_find(registry, name);
	struct json_object *status;
	int r;

	if (!session) {
		status = ended_take(registry, name);
		if (!status)
			return -ENOENT;
		handler(0, status, userdata);
		return 0;
	}
	r = wait_for_end(session->userdata, handler, userdata);
	if (r >= 0)
		session_end(session, SESSION_STOPPED);
	return r;
}

/* ---- notifications ---- */

/* Sessions that end leave the list meanwhile, so it is walked from its end. */
static void collect(struct registry *registry)
{
	for (size_t i = registry->count; i--;)
		if (i < registry->count)
			session_collect(registry->entries[i]->session);
	lingering_sweep(&registry->config.context->lingering);
}

uint64_t registry_see_to(struct registry *registry)
{
	collect(registry);
	return errands_take_turn(&registry->config.context->errands);
}

static bool any_starts(const struct registry *registry)
{
	for (size_t i = 0; i < registry->count; i++)
		if (registry->entries[i]->session->opening)
			return true;
	return false;
}

void registry_await_starts(struct registry *registry, uint64_t until_ns)
{
	struct pollfd pollfd = { .fd = registry->config.context->notice, .events = POLLIN };
	eventfd_t value;
	uint64_t now;

	while (any_starts(registry) && (now = clocks_mono_ns()) < until_ns) {
		if (poll(&pollfd, 1, (int)((until_ns - now) / 1000000) + 1) > 0)
			eventfd_read(pollfd.fd, &value);
		collect(registry);
		errands_see_to(&registry->config.context->errands);
	}
}

/* ---- the daemon's end ---- */

static void await_openings(struct registry *registry, uint64_t until_ns)
{
	for (size_t i = registry->count; i--;)
		session_await_opening(registry->entries[i]->session, until_ns);
	errands_see_to(&registry->config.context->errands);
}

void registry_end(struct registry *registry)
{
	struct session_context *context = registry->config.context;
	uint64_t until_ns = clocks_mono_ns() + STARTS_NS, end_ns = clocks_mono_ns() + ENDS_NS;

	for (size_t i = registry->count; i--;)
		session_end(registry->entries[i]->session, SESSION_SHUTDOWN);
	await_openings(registry, until_ns);
	while (registry->count)
		session_await_end(registry->entries[0]->session, end_ns);
	if (!lingering_end(&context->lingering, end_ns))
		context->hung = context->abandoned = true;
}

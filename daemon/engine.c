// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "engine_resume.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "probes/control_page.h"
#include "probes/own.h"
#include "snapshot/snapshot.h"

#define ERRANDS_NS 2000000000ULL /* time that the daemon's end gives to errands (errand.h) */

#define RELEASE_US 1000000 /* Hooks stay attached for this long after the last session that needed them. */

/* ---- life ---- */

static int level_find(const char *name, enum probes_level *ret)
{
	static const char *const names[] = {
		[PROBES_AUTO] = "auto",
		[PROBES_FUNCTION] = "function",
		[PROBES_TRACEPOINT] = "tracepoint",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name ?: "auto")) {
			*ret = i;
			return 0;
		}
	return -EINVAL;
}

const char *level_name(enum probes_level level)
{
	return probes_level_name(level);
}

void engine_own(struct engine *engine, pid_t process, bool own)
{
	if (own)
		own_add(engine->probes, process);
	else
		own_remove(engine->probes, process);
}

static void on_snapshot_process(pid_t process, bool begins, void *userdata)
{
	engine_own(userdata, process, begins);
}

static int consumer_start(struct engine *engine)
{
	struct consumer_config config = {
		.names = probes_map(engine->probes, "names"),
		.known = probes_known(engine->probes),
		.known_count = IOTR_KNOWN,
	};

	config.rings = probes_rings(engine->probes, &config.ring_count);
	return consumer_new(&config, &engine->consumer);
}

DEFINE_CLEANUP(struct engine *, engine_free);

int engine_new(const struct engine_config *config, sd_event *event, struct engine **ret,
	       struct engine_error *error)
{
	_cleanup_(engine_freep) struct engine *engine = calloc(1, sizeof(*engine));
	enum probes_level level;
	int r;

	if (!engine)
		return engine_fail(error, -ENOMEM, "", "out of memory");
	engine->config = *config;
	engine->event = sd_event_ref(event);
	r = engine_notice_init(engine);
	if (r < 0)
		return engine_fail(error, r, "", "cannot set up the event loop");
	r = level_find(config->level, &level);
	if (r < 0)
		return engine_fail(error, r, "level", "unknown level: auto, function and tracepoint exist");
	r = probes_new(level, &engine->probes, error->message, sizeof(error->message));
	if (r < 0)
		return engine_fail(error, r, "", NULL);
	control_page_block(engine->probes, engine->block_flags);
	flags_set_block_bits(engine->block_flags);
	r = engine_storage_new(engine);
	if (r < 0)
		return engine_fail(error, r, "", "cannot start the thread that compresses");
	r = bpf_cost_new(engine, &engine->bpf_cost);
	if (r < 0)
		return engine_fail(error, r, "", "out of memory");
	r = consumer_start(engine);
	if (r < 0)
		return engine_fail(error, r, "", "cannot read the rings of the BPF programs");
	snapshot_watch(on_snapshot_process, engine);
	r = orders_new(&(struct orders_config){ .event = engine->event, .country = &engine->config.country },
		       &engine->snapshots);
	if (r >= 0)
		r = engine_doctor_begin(engine);
	if (r < 0)
		return engine_fail(error, r, "", "out of memory");
	log_info("hooks at %s level", level_name(probes_level(engine->probes)));
	anonymize_prepare(config->state_dir);
	engine_resume(engine);
	*ret = TAKE(engine);
	return 0;
}

bool engine_free(struct engine *engine)
{
	bool ended;

	if (!engine)
		return true;
	snapshot_watch(NULL, NULL);
	doctor_free(engine->doctor);
	engine_resume_end(engine);
	engine->abandoned |= !errands_end(&engine->errands, clocks_mono_ns() + ERRANDS_NS);
	snapshot_removals_end(clocks_mono_ns() + ERRANDS_NS);
	engine_notice_done(engine);
	dumps_end(engine);
	for (size_t i = 0; i < engine->ended_count; i++)
		json_object_put(engine->ended[i]);
	sd_event_source_disable_unref(engine->release);
	sd_event_source_disable_unref(engine->tick);
	bpf_cost_free(engine->bpf_cost);
	orders_free(engine->snapshots);
	consumer_free(engine->consumer);
	probes_free(engine->probes);
	ended = engine->abandoned ? storage_stop(engine->storage) : storage_free(engine->storage);
	if (!ended)
		log_error("a segment that is compressed lies on a disk that does not answer: the daemon ends without it");
	ended &= !engine->hung;
	sd_event_unref(engine->event);
	free(engine);
	return ended;
}

/* ---- which programs are attached ---- */

static uint32_t groups_wanted(const struct engine *engine)
{
	uint32_t groups = 0;

	for (size_t stream = 0; engine->selftest_bits && stream < IOTR_STREAM_COUNT; stream++)
		groups |= probes_stream_groups(stream);
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++) {
		const struct session *session = engine->sessions[i];

		if (session && !session_runs(session))
			continue;
		for (size_t stream = 0; session && stream < IOTR_STREAM_COUNT; stream++)
			if (session->spec.streams >> stream & 1)
				groups |= probes_stream_groups(stream);
		if (session && (session->spec.tree || session->spec.unit_count))
			groups |= 1U << PROBES_PROCESS;
	}
	return probes_groups(engine->probes, groups);
}

bool groups_needed(const struct engine *engine)
{
	return groups_wanted(engine) != 0;
}

void groups_attach(struct engine *engine)
{
	uint32_t groups = groups_wanted(engine);

	for (enum probes_group group = 0; group < PROBES_GROUP_COUNT; group++)
		if (groups >> group & 1)
			probes_attach(engine->probes, group);
}

void groups_release(struct engine *engine)
{
	uint32_t wanted = groups_wanted(engine);

	for (enum probes_group group = 0; group < PROBES_GROUP_COUNT; group++)
		if (!(wanted >> group & 1))
			probes_detach(engine->probes, group);
}

static int release_due(sd_event_source *source, uint64_t now, void *userdata)
{
	(void)source;
	(void)now;
	groups_release(userdata);
	return 0;
}

/*
 * Hooks stay attached for a while, so that sessions that follow one another do not attach them anew each time.
 */
void groups_release_later(struct engine *engine)
{
	engine->release = sd_event_source_disable_unref(engine->release);
	if (sd_event_add_time_relative(engine->event, &engine->release, CLOCK_MONOTONIC, RELEASE_US,
				       RELEASE_US / 10, release_due, engine) < 0)
		groups_release(engine);
}

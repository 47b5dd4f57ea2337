// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/triggers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "pipeline/clocks.h"
#include "session/counts.h"
#include "session/pressure.h"
#include "session/timings.h"
#include "session/unit_states.h"
#include "spec/trigger_text.h"

#define SECOND_US 1000000
#define SECOND_NS 1000000000ULL

struct triggers {
	struct triggers_config config;
	const struct registry *registry; /* NULL: nobody has started it yet */
	sd_event_source *second;
	struct timings *timings;
	struct unit_states *units;
	uint64_t looked_ns; /* CLOCK_MONOTONIC: the last look */
	uint64_t span_ns;   /* from the look before */
	struct {
		struct pressure now, before;
		bool known; /* both of them */
		bool begun; /* `now` */
		int error;
	} pressure[IOTR_PRESSURE_COUNT];
};

/* ---- what is wanted of the kernel ---- */

static void add_operations(const struct iotr_trigger *triggers, size_t count, struct timing_operation *operations, size_t *ret)
{
	for (size_t i = 0; i < count; i++) {
		const struct timing_operation wanted = { (enum iotr_stream)triggers[i].stream, triggers[i].operation };
		size_t at = 0;

		while (at < *ret && (operations[at].stream != wanted.stream || operations[at].operation != wanted.operation))
			at++;
		if (triggers[i].source == IOTR_TRIGGER_OPERATION && at == *ret && at < IOTR_TIMING_WATCHES)
			operations[(*ret)++] = wanted;
	}
}

static bool has_triggers(const struct session *session)
{
	return session->state == SESSION_RUNNING && (session->spec.trigger_count || session->spec.stop_count);
}

/* Returns whether any session has a trigger. */
static bool want(struct triggers *triggers)
{
	struct timing_operation operations[IOTR_TIMING_WATCHES];
	const struct session *session;
	bool any = false;
	size_t count = 0;

	for (size_t i = 0; (session = registry_at(triggers->registry, i)); i++) {
		if (!has_triggers(session))
			continue;
		any = true;
		add_operations(session->spec.triggers, session->spec.trigger_count, operations, &count);
		add_operations(session->spec.stops, session->spec.stop_count, operations, &count);
	}
	timings_want(triggers->timings, operations, count);
	return any;
}

/* Each resource is read once for all sessions; that costs less than to find out which ones are wanted. */
static void pressure_take(struct triggers *triggers)
{
	for (int of = 0; of < IOTR_PRESSURE_COUNT; of++) {
		bool begun = triggers->pressure[of].begun;

		triggers->pressure[of].before = triggers->pressure[of].now;
		triggers->pressure[of].error = pressure_read((enum iotr_pressure)of, &triggers->pressure[of].now);
		triggers->pressure[of].begun = triggers->pressure[of].error >= 0;
		triggers->pressure[of].known = begun && triggers->pressure[of].begun;
	}
}

/* ---- values ---- */

/* What a measurement says. */
enum said {
	SAID_NOTHING, /* nothing happened, or it is not known yet: what held before still does */
	SAID_VALUE,
	SAID_ERROR, /* it cannot be known, as the session's `error` tells */
};

/* Rounded, but never to none, as `> 0/s` is meant for the first one. */
static uint64_t per_second(const struct triggers *triggers, uint64_t count)
{
	uint64_t span = triggers->span_ns ?: SECOND_NS, rate = (count * SECOND_NS + span / 2) / span;

	return count && !rate ? 1 : rate;
}

static enum said operation_value(const struct triggers *triggers, const struct iotr_trigger *trigger, uint64_t *value, char *error,
				 size_t size)
{
	const struct timing_operation operation = { (enum iotr_stream)trigger->stream, trigger->operation };
	const struct iotr_timing *timing = timings_of(triggers->timings, &operation);

	if (*timings_error(triggers->timings)) {
		snprintf(error, size, "%s", timings_error(triggers->timings));
		return SAID_ERROR;
	}
	if (!timing || (trigger->measure < IOTR_MEASURE_RATE && !timing->ended))
		return SAID_NOTHING;
	switch (trigger->measure) {
	case IOTR_MEASURE_PERCENTILE:
		*value = timing_quantile(timing, trigger->permille);
		break;
	case IOTR_MEASURE_MAX:
		*value = timing_quantile(timing, 1000);
		break;
	case IOTR_MEASURE_MEAN:
		*value = timing->latency_ns / timing->ended;
		break;
	case IOTR_MEASURE_RATE:
		*value = per_second(triggers, timing->ended);
		break;
	case IOTR_MEASURE_ERRORS:
		*value = per_second(triggers, timing->failed);
		break;
	case IOTR_MEASURE_ERRNO:
		*value = per_second(triggers, timing->errnos[trigger->error]);
		break;
	}
	return SAID_VALUE;
}

static enum said pressure_value(const struct triggers *triggers, const struct iotr_trigger *trigger, uint64_t *value, char *error,
				size_t size)
{
	const struct pressure *now = &triggers->pressure[trigger->pressure].now,
			      *before = &triggers->pressure[trigger->pressure].before;
	uint64_t waited = now->total_us[trigger->full] - before->total_us[trigger->full];

	if (triggers->pressure[trigger->pressure].error < 0) {
		snprintf(error, size, "the kernel tells no pressure: %s",
			 strerror(-triggers->pressure[trigger->pressure].error));
		return SAID_ERROR;
	}
	if (trigger->average)
		*value = now->average[trigger->full][trigger->average == 10 ? 0 : trigger->average == 60 ? 1 : 2];
	else if (!triggers->pressure[trigger->pressure].known)
		return SAID_NOTHING;
	else
		*value = waited * 10000 * 1000 / (triggers->span_ns ?: SECOND_NS);
	return SAID_VALUE;
}

static enum said value_of(const struct triggers *triggers, const struct iotr_trigger *trigger, uint64_t lost, uint64_t *value,
			  char *error, size_t size)
{
	char why[160];

	switch (trigger->source) {
	case IOTR_TRIGGER_OPERATION:
		return operation_value(triggers, trigger, value, error, size);
	case IOTR_TRIGGER_PRESSURE:
		return pressure_value(triggers, trigger, value, error, size);
	case IOTR_TRIGGER_UNIT:
		*value = unit_states_has(triggers->units, trigger->unit, trigger->state, why, sizeof(why));
		if (*why)
			snprintf(error, size, "%s", why);
		return *why ? SAID_ERROR : SAID_VALUE;
	case IOTR_TRIGGER_LOST:
		break;
	}
	*value = per_second(triggers, lost);
	return SAID_VALUE;
}

/* ---- triggers ---- */

/* Whether it holds for as long as it has to, and has not acted on that yet. */
static bool holds(const struct triggers *triggers, const struct iotr_trigger *trigger, struct trigger_state *state, enum said said,
		  uint64_t value)
{
	if (said == SAID_NOTHING)
		return false;
	if (said == SAID_ERROR || value <= trigger->above) {
		state->since_ns = 0;
		state->acted = false;
		return false;
	}
	if (!state->since_ns)
		state->since_ns = triggers->looked_ns - triggers->span_ns;
	return !state->acted && triggers->looked_ns - state->since_ns >= trigger->for_ns;
}

/* Of several triggers, in their order, the first that holds; NULL: none. All of them are looked at. */
static const struct iotr_trigger *look_at(struct triggers *triggers, struct session *session, const struct iotr_trigger *all,
					  size_t count, struct trigger_state *states, uint64_t lost)
{
	const struct iotr_trigger *found = NULL;
	char *error = session->triggers.error;

	for (size_t i = 0; i < count; i++) {
		uint64_t value = 0;
		enum said said = value_of(triggers, &all[i], lost, &value, error, sizeof(session->triggers.error));

		if (!holds(triggers, &all[i], &states[i], said, value) || found)
			continue;
		found = &all[i];
		trigger_format(found, value, states[i].value, sizeof(states[i].value));
	}
	return found;
}

static void act(struct triggers *triggers, struct session *session, const struct iotr_trigger *trigger, struct trigger_state *state,
		bool stops)
{
	state->fired++;
	state->fired_ns = clocks_realtime_ns();
	state->acted = true;
	triggers->config.fired(session, trigger, state->value, stops, triggers->config.userdata);
}

/* A session that waits is not stopped by what may hold before it has begun. It may be over after this. */
static void look(struct triggers *triggers, struct session *session)
{
	const struct iotr_session_spec *spec = &session->spec;
	struct session_triggers *own = &session->triggers;
	uint64_t lost = session_lost(session), before = own->lost;
	const struct iotr_trigger *found = NULL;

	own->error[0] = '\0';
	own->lost = lost;
	lost = lost > before ? lost - before : 0;
	if (session->waiting || spec->flight_recorder)
		found = look_at(triggers, session, spec->triggers, spec->trigger_count, own->starts, lost);
	if (found && (session->waiting || triggers->looked_ns >= own->quiet_until_ns)) {
		own->quiet_until_ns = triggers->looked_ns + spec->hold_off_ns;
		act(triggers, session, found, &own->starts[found - spec->triggers], false);
		return;
	}
	if (session->waiting)
		return;
	found = look_at(triggers, session, spec->stops, spec->stop_count, own->stops, lost);
	if (found)
		act(triggers, session, found, &own->stops[found - spec->stops], true);
}

/* Sessions that end leave the list meanwhile, so it is walked from its end. */
static void look_at_all(struct triggers *triggers)
{
	struct session *session;
	size_t count = 0;

	while (registry_at(triggers->registry, count))
		count++;
	while (count--) {
		session = registry_at(triggers->registry, count);
		if (session && has_triggers(session))
			look(triggers, session);
	}
}

static int again(struct triggers *triggers)
{
	sd_event_source_set_time_relative(triggers->second, SECOND_US);
	return sd_event_source_set_enabled(triggers->second, SD_EVENT_ONESHOT);
}

static int on_second(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct triggers *triggers = userdata;
	uint64_t now = clocks_mono_ns();

	(void)source, (void)usec;
	if (!want(triggers)) {
		unit_states_next(triggers->units);
		return 0;
	}
	triggers->span_ns = now - triggers->looked_ns;
	triggers->looked_ns = now;
	timings_take(triggers->timings);
	pressure_take(triggers);
	look_at_all(triggers);
	unit_states_next(triggers->units);
	return again(triggers);
}

/* ---- life ---- */

DEFINE_CLEANUP(struct triggers *, triggers_free);

int triggers_new(const struct triggers_config *config, struct triggers **ret)
{
	_cleanup_(triggers_freep) struct triggers *triggers = calloc(1, sizeof(*triggers));
	int r;

	if (!triggers)
		return -ENOMEM;
	triggers->config = *config;
	r = timings_new(config->errands, config->probes, &triggers->timings);
	if (r >= 0)
		r = unit_states_new(config->event, &triggers->units);
	if (r >= 0)
		r = sd_event_add_time_relative(config->event, &triggers->second, CLOCK_MONOTONIC, 0, SECOND_US / 100, on_second,
					       triggers);
	if (r >= 0)
		r = sd_event_source_set_enabled(triggers->second, SD_EVENT_OFF);
	if (r >= 0)
		*ret = TAKE(triggers);
	return r;
}

void triggers_free(struct triggers *triggers)
{
	if (!triggers)
		return;
	sd_event_source_disable_unref(triggers->second);
	timings_free(triggers->timings);
	unit_states_free(triggers->units);
	free(triggers);
}

void triggers_run(struct triggers *triggers, const struct registry *registry)
{
	int enabled = SD_EVENT_OFF;

	triggers->registry = registry;
	sd_event_source_get_enabled(triggers->second, &enabled);
	if (enabled != SD_EVENT_OFF)
		return;
	triggers->looked_ns = clocks_mono_ns();
	for (int of = 0; of < IOTR_PRESSURE_COUNT; of++)
		triggers->pressure[of].begun = triggers->pressure[of].known = false;
	want(triggers);
	again(triggers);
}

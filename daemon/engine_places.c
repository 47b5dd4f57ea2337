// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Slots of sessions on the control page (`place` in the names of this code): each is one bit of a record's
 * session mask. A session whose filters change takes another slot, with the new filters, for operations that
 * begin from then on; those that began before end in the old slot and are judged by its filters. The old slot
 * is given up when nothing is in flight in it any more. This is checked when filters change, when the session
 * ends, or when another session needs a slot and none is free: then the one that was left first is given up,
 * and what is in flight in it is counted as lost.
 */
#include <errno.h>

#include "engine_internal.h"
#include "log.h"
#include "probes/control_page.h"
#include "probes/under_way.h"

static int place_free(const struct engine *engine)
{
	for (int bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		if (!engine->sessions[bit] && !engine->leaving[bit].session && !(engine->selftest_bits >> bit & 1))
			return bit;
	return -ENOSPC;
}

int place_take(struct session *session, unsigned int bit, struct session_place *ret)
{
	struct engine *engine = session->engine;
	struct router *router = consumer_router(engine->consumer);
	int r = session->recorder ? router_attach_recorder(router, bit, session->recorder) :
				    router_attach(router, bit, session->writer);

	if (r < 0)
		return r;
	ret->bit = (int)bit;
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		probes_loss(engine->probes, stream, bit, &ret->before[stream]);
	ret->unfollowed_before = control_page_unfollowed(engine->probes, bit);
	return 0;
}

static void loss_add(struct probes_loss *sum, const struct session *session,
		     const struct session_place *place, enum iotr_stream stream,
		     const struct probes_loss *places)
{
	struct probes_loss loss;

	if (places)
		loss = places[place->bit];
	else
		probes_loss(session->engine->probes, stream, place->bit, &loss);
	sum->emitted += loss.emitted - place->before[stream].emitted;
	sum->ring += loss.ring - place->before[stream].ring;
	sum->unmatched += loss.unmatched - place->before[stream].unmatched;
}

void session_loss(const struct session *session, enum iotr_stream stream, struct probes_loss *loss)
{
	session_loss_by(session, stream, NULL, loss);
}

void session_loss_by(const struct session *session, enum iotr_stream stream, const struct probes_loss *places,
		     struct probes_loss *loss)
{
	const struct place_left *leaving = session->engine->leaving;

	*loss = session->settled[stream];
	if (!session->begun)
		return;
	loss_add(loss, session, &session->place, stream, places);
	for (size_t bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		if (leaving[bit].session == session)
			loss_add(loss, session, &leaving[bit].place, stream, places);
}

static uint64_t place_unfollowed(const struct session *session, const struct session_place *place)
{
	return control_page_unfollowed(session->engine->probes, place->bit) - place->unfollowed_before;
}

uint64_t session_unfollowed(const struct session *session)
{
	const struct place_left *leaving = session->engine->leaving;
	uint64_t sum = session->unfollowed_settled;

	if (!session->begun)
		return 0;
	sum += place_unfollowed(session, &session->place);
	for (size_t bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		if (leaving[bit].session == session)
			sum += place_unfollowed(session, &leaving[bit].place);
	return sum;
}

void place_change(struct session *session, const struct session_place *place)
{
	struct engine *engine = session->engine;
	struct place_left *left = &engine->leaving[session->place.bit];

	control_page_open(engine->probes, place->bit, session->place.bit);
	*left = (struct place_left){ session, session->place, engine->places_left++ };
	engine->sessions[left->place.bit] = NULL;
	engine->sessions[place->bit] = session;
	session->place = *place;
}

/* When it returns, the slot's rows are queued for the file, and the slot is free. */
static void place_give_up(struct engine *engine, struct place_left *left)
{
	struct session *session = left->session;

	control_page_clear(engine->probes, left->place.bit);
	consumer_drain(engine->consumer);
	router_detach(consumer_router(engine->consumer), left->place.bit);
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		loss_add(&session->settled[stream], session, &left->place, stream, NULL);
	session->unfollowed_settled += place_unfollowed(session, &left->place);
	left->session = NULL;
}

void places_give_up(struct session *session)
{
	struct place_left *leaving = session->engine->leaving;

	for (size_t bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		if (leaving[bit].session == session)
			place_give_up(session->engine, &leaving[bit]);
}

static bool any_left(const struct engine *engine)
{
	for (size_t bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		if (engine->leaving[bit].session)
			return true;
	return false;
}

/* No operation begins in a slot that was left, so once nothing is in flight in it, nothing will be. */
void places_tidy(struct engine *engine)
{
	struct under_way under_way;

	if (!any_left(engine))
		return;
	under_way_count(engine->probes, &under_way);
	for (size_t bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		if (engine->leaving[bit].session && !(under_way.places >> bit & 1))
			place_give_up(engine, &engine->leaving[bit]);
}

static struct place_left *left_first(struct engine *engine)
{
	struct place_left *first = NULL;

	for (size_t bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		if (engine->leaving[bit].session && (!first || engine->leaving[bit].number < first->number))
			first = &engine->leaving[bit];
	return first;
}

/* Operations in flight in the slot that was left first are counted as lost: no filters will judge them. */
static void place_lose(struct engine *engine)
{
	struct place_left *left = left_first(engine);
	struct session *session = left ? left->session : NULL;
	struct under_way under_way;
	uint64_t lost = 0;

	if (!left)
		return;
	under_way_count(engine->probes, &under_way);
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		uint32_t count = under_way.count[stream][left->place.bit];

		session->settled[stream].emitted += count;
		session->settled[stream].unmatched += count;
		lost += count;
	}
	place_give_up(engine, left);
	if (lost)
		log_warning("session %s: %lu operations that began before its filters changed are lost, as "
			    "another place was needed", session->spec.name, lost);
}

int place_find(struct engine *engine)
{
	if (place_free(engine) < 0)
		places_tidy(engine);
	if (place_free(engine) < 0)
		place_lose(engine);
	return place_free(engine);
}

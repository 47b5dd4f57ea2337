// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Places of sessions on the control page: a bit of each row's mask. A session whose filters change
 * takes a second one, for what begins from then on; what had begun before ends in the first, which
 * is given up when the session ends or changes again, or when another one needs it.
 */
#include <errno.h>

#include "engine_internal.h"
#include "probes/control_page.h"

static int place_free(const struct engine *engine)
{
	for (int bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		if (!engine->sessions[bit] && !engine->leaving[bit] && !(engine->selftest_bits >> bit & 1))
			return bit;
	return -ENOSPC;
}

int place_find(struct engine *engine)
{
	for (int bit = 0; bit < IOTR_SESSIONS_MAX && place_free(engine) < 0; bit++)
		if (engine->leaving[bit])
			place_leave(engine->leaving[bit]);
	return place_free(engine);
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
	return 0;
}

static void loss_add(struct probes_loss *sum, const struct session *session,
		     const struct session_place *place, enum iotr_stream stream)
{
	struct probes_loss loss;

	probes_loss(session->engine->probes, stream, place->bit, &loss);
	sum->emitted += loss.emitted - place->before[stream].emitted;
	sum->ring += loss.ring - place->before[stream].ring;
	sum->unmatched += loss.unmatched - place->before[stream].unmatched;
}

void session_loss(const struct session *session, enum iotr_stream stream, struct probes_loss *loss)
{
	*loss = session->settled[stream];
	if (!session->begun)
		return;
	loss_add(loss, session, &session->place, stream);
	if (session->left.bit >= 0)
		loss_add(loss, session, &session->left, stream);
}

void place_leave(struct session *session)
{
	struct engine *engine = session->engine;
	int bit = session->left.bit;

	if (bit < 0)
		return;
	control_page_clear(engine->probes, bit);
	consumer_drain(engine->consumer);
	router_detach(consumer_router(engine->consumer), bit);
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		loss_add(&session->settled[stream], session, &session->left, stream);
	engine->leaving[bit] = NULL;
	session->left.bit = -1;
}

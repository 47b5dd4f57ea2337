// SPDX-License-Identifier: GPL-2.0-or-later
/* What the self-test gets of the engine: two slots beside those of the sessions, and all hooks. */
#include <errno.h>

#include "engine_internal.h"

static bool is_free(const struct engine *engine, unsigned int bit)
{
	return !engine->sessions[bit] && !engine->leaving[bit].session;
}

static int reserve(unsigned int slots[SELFTEST_SLOTS], void *userdata)
{
	struct engine *engine = userdata;
	size_t found = 0;

	for (unsigned int bit = 0; bit < IOTR_SESSIONS_MAX && found < SELFTEST_SLOTS; bit++)
		if (is_free(engine, bit))
			slots[found++] = bit;
	if (found < SELFTEST_SLOTS)
		return -ENOSPC;
	for (size_t i = 0; i < SELFTEST_SLOTS; i++)
		engine->selftest_bits |= 1ULL << slots[i];
	consumer_run(engine->consumer, true);
	groups_attach(engine);
	return 0;
}

static void give_back(void *userdata)
{
	struct engine *engine = userdata;

	engine->selftest_bits = 0;
	groups_release(engine);
	consumer_run(engine->consumer, groups_needed(engine));
}

int engine_doctor_begin(struct engine *engine)
{
	const struct selftest_config config = { .event = engine->event,
						.state_dir = engine->config.state_dir,
						.probes = engine->probes,
						.consumer = engine->consumer,
						.reserve = reserve,
						.give_back = give_back,
						.userdata = engine };

	return doctor_new(&config, &engine->doctor);
}

int engine_doctor_new(struct engine *engine, engine_doctor_handler handler, void *userdata,
		      struct engine_doctor **ret)
{
	return doctor_ask(engine->doctor, handler, userdata, ret);
}

void engine_doctor_free(struct engine_doctor *doctor)
{
	doctor_leave(doctor);
}

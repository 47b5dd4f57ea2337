/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sessions share, with a fake probe set, a fake disk and a consumer that has no rings. */
#pragma once

#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>

#include "cleanup.h"
#include "fake_disk.h"
#include "fake_probes.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "session/context.h"
#include "suite.h"

#define SECOND_NS 1000000000ULL

static struct session_context context;
static struct router *router;

/* ---- a consumer without rings ---- */

static bool drains;

struct router *consumer_router(struct consumer *consumer)
{
	(void)consumer;
	return router;
}

void consumer_run(struct consumer *consumer, bool run)
{
	(void)consumer;
	drains = run;
}

void consumer_drain(struct consumer *consumer)
{
	(void)consumer;
}

/* ---- frame ---- */

static const struct rights owner = { .uid = 4711 };

static void spec_fill(struct iotr_session_spec *spec, bool paths)
{
	*spec = (struct iotr_session_spec){ .name = "s", .streams = 1U << IOTR_VFS,
					    .flight_recorder = IOTR_FLIGHT_RECORDER_MIN };
	if (!paths)
		return;
	spec->paths = calloc(1, sizeof(*spec->paths));
	strcpy(spec->paths[0], "/somewhere");
	spec->path_count = 1;
}

/* The thread that opens is done: the main loop learns of it. */
static inline void thread_done(void)
{
	eventfd_t value;

	fake_disk_let_go();
	ck_assert_int_eq(eventfd_read(context.notice, &value), 0);
	errands_see_to(&context.errands);
}

static void context_begin(void)
{
	log_open();
	fake_probes_reset();
	context = (struct session_context){ .config = { .state_dir = "/nonexistent", .log_dir = "/nonexistent" } };
	context.notice = context.errands.notice = eventfd(0, EFD_CLOEXEC);
	ck_assert_int_ge(sd_event_new(&context.event), 0);
	ck_assert_int_eq(hookset_new(NULL, context.event, &context.hookset), 0);
	ck_assert_int_eq(router_new(&(struct router_config){ 0 }, &router), 0);
}

static void context_end(void)
{
	fake_disk_let_go();
	errands_end(&context.errands, clocks_mono_ns() + 60 * SECOND_NS);
	router_free(router);
	hookset_free(context.hookset);
	sd_event_unref(context.event);
	close(context.notice);
}

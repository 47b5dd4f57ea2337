/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The consumer thread: drains the ring of names, then the row rings, into dictionary and router. No
 * event wakes it: while sessions run it drains every few milliseconds, otherwise it sleeps. The
 * functions are for the main thread. It owns rings, names and router, which are used in its thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The thread's nice value. The rings fill while the thread waits for a CPU, and what it does of a row takes some thirty
 * nanoseconds. So it goes before what is traced, which keeps the rings, whose memory is locked, small.
 */
#define CONSUMER_NICE (-10)

struct consumer;
struct router;

struct consumer_config {
	const int *rings; /* descriptors of the row rings */
	size_t ring_count;
	int names;	  /* descriptor of the ring of names */
	uint64_t *known;  /* marks of names sent */
	size_t known_count; /* a power of two */
};

int consumer_new(const struct consumer_config *config, struct consumer **ret);
void consumer_free(struct consumer *consumer); /* takes NULL */

/* For router_attach() and router_detach(). */
struct router *consumer_router(struct consumer *consumer);

/* Whether the rings are to be drained: while sessions run. */
void consumer_run(struct consumer *consumer, bool run);

/* Returns when all rows that were in the rings at the time of the call have been routed. */
void consumer_drain(struct consumer *consumer);

/* How often its thread has gone round, many times a second. False: it need not go on, as no session runs. */
bool consumer_turns(struct consumer *consumer, uint64_t *turns);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that may never return, as those on a network file system whose server is gone: the worker
 * makes them between guard_enter() and guard_leave(). A supervisor that has seen one last too long
 * takes the work away (guard_abandon()) and gives it to a new thread; the old one, should its call
 * ever return, stays in guard_leave() forever. So a guarded call may write to the worker's stack,
 * and to nothing that the next worker uses.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

struct guard {
	_Atomic uint64_t state; /* number of the call, shifted by one; lowest bit: it is in flight */
};

/* The call's number, for guard_leave(). */
static inline uint64_t guard_enter(struct guard *guard)
{
	uint64_t call = atomic_load_explicit(&guard->state, memory_order_relaxed) + 3;

	/* A supervisor that takes the work away must see all that was done before the call. */
	atomic_store_explicit(&guard->state, call, memory_order_release);
	return call;
}

static inline void guard_leave(struct guard *guard, uint64_t call)
{
	if (!atomic_compare_exchange_strong(&guard->state, &call, call - 1))
		for (;;)
			pause();
}

/* Makes the call under guard, and yields its value. */
#define GUARDED(guard_, expression)                                                                \
	({                                                                                         \
		struct guard *_guard = (guard_);                                                   \
		uint64_t _call = guard_enter(_guard);                                              \
		__typeof__(expression) _value = (expression);                                      \
		guard_leave(_guard, _call);                                                        \
		_value;                                                                            \
	})

/* Supervisor: the call in flight, 0 when there is none. */
static inline uint64_t guard_call(const struct guard *guard)
{
	uint64_t state = atomic_load(&guard->state);

	return state & 1 ? state : 0;
}

/* Supervisor: the call is no longer waited for. False: it has just returned. */
static inline bool guard_abandon(struct guard *guard, uint64_t call)
{
	return atomic_compare_exchange_strong(&guard->state, &call, call + 1);
}

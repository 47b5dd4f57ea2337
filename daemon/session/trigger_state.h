/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is remembered of a session's triggers from one look to the next. Main thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trigger.h"

/* Of one trigger. */
struct trigger_state {
	uint64_t since_ns; /* CLOCK_MONOTONIC: it holds since then; 0: it does not hold */
	bool acted;	   /* it has acted since then, and does not again before it has ceased to hold */
	uint64_t fired;	   /* how often it has acted */
	uint64_t fired_ns; /* CLOCK_REALTIME: when it acted last; 0: never */
	char value[48];	   /* what it measured then */
};

/* Of all triggers of a session. */
struct session_triggers {
	struct trigger_state starts[IOTR_TRIGGERS_MAX], stops[IOTR_TRIGGERS_MAX];
	uint64_t quiet_until_ns; /* CLOCK_MONOTONIC: until then those that dump do not act */
	uint64_t lost;		 /* rows that were lost until the last look */
	char error[160];	 /* why some of them cannot be looked at; "": they all are */
};

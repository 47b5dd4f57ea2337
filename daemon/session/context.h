/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all sessions share. The engine owns it and everything in it; main thread, unless stated otherwise. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "engine.h"
#include "errand.h"
#include "pipeline/consumer.h"
#include "pipeline/storage/storage.h"
#include "probes/hookset.h"
#include "rights.h"
#include "session/bpf_cost.h"
#include "session/counting.h"
#include "session/groups.h"
#include "session/lingering.h"
#include "session/slots.h"
#include "snapshot/orders.h"

struct session_context {
	struct engine_config config;
	sd_event *event;
	struct probes *probes;
	struct hookset *hookset;
	struct consumer *consumer;
	struct slots slots;
	struct storage *storage;  /* any thread */
	bool limited;		  /* there is a limit for all traces together */
	struct rights log_rights; /* for the content of the log folder */
	struct bpf_cost *bpf_cost;
	struct errands errands;	  /* work that threads do for the main loop */
	struct orders *orders;	  /* of snapshots */
	struct groups *groups;	  /* the cgroups of the machine; NULL: there is no memory for them */
	struct counting *counting; /* of I/O by layer */
	struct lingering lingering;
	int notice;	/* eventfd: a thread or writer has results for the main loop */
	bool hung;	/* something did not end in time, as a disk does not answer */
	bool abandoned; /* a thread that waits for a disk was left behind, and may use the storage and `notice` */
};

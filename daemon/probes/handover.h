/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which programs see system calls of VFS at function level: see handover.c. Main thread. */
#pragma once

#include "probes/probes.h"

/* The stand-in is attached: has the hooks on functions attached, and probes_see_to() goes on. */
void handover_begin(struct probes *probes);

/* Tries again to attach hooks on functions, if some could not be; until then the stand-in stays. */
void handover_retry(struct probes *probes);

/* Someone wants what tells where datagrams come from, or nobody does any more. */
void handover_sources(struct probes *probes);

/* The hooks on functions are detached, before the stand-in. */
void handover_end(struct probes *probes);

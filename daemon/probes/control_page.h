/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions as the kernel side sees them: bits, filters and thresholds on the control page and in
 * the filter maps. Main thread.
 */
#pragma once

#include "probes/probes.h"
#include "session.h"

/* Makes the session's filters known, and then its wishes: from here on its events are rows. */
int control_page_set(struct probes *probes, unsigned int session, const struct iotr_session_spec *spec);

/* Takes the wishes back; when it returns, no program emits for the session any more. */
void control_page_clear(struct probes *probes, unsigned int session);

/* Kernel's names of operations and flags of block requests, in its own numbers. Once. */
void control_page_block(struct probes *probes, const char *flag_names[32]);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions as the kernel side sees them: bits, filters and thresholds on the control page and in
 * the filter maps. Main thread.
 */
#pragma once

#include "probes/filter_error.h"
#include "probes/probes.h"
#include "session.h"

/* Whether what the filters name is there. -EINVAL: the error says what is not. */
int control_page_check(const struct iotr_session_spec *spec, struct filter_error *error);

/* Makes the session's filters and wishes known; what begins is not yet a row of its. */
int control_page_prepare(struct probes *probes, unsigned int session, const struct iotr_session_spec *spec,
			 struct filter_error *error);

/*
 * From here on what begins is a row of the session's, `instead` of another one's (-1: of none's):
 * each event is seen by one of the two as a whole, and by both never.
 */
void control_page_open(struct probes *probes, unsigned int session, int instead);

/* The processes that another session follows are followed by this one too; both follow descendants. */
int control_page_inherit(struct probes *probes, unsigned int session, unsigned int from);

/* Both: prepares and opens. */
int control_page_set(struct probes *probes, unsigned int session, const struct iotr_session_spec *spec,
		     struct filter_error *error);

/* Takes the wishes back; when it returns, no program emits for the session any more. */
void control_page_clear(struct probes *probes, unsigned int session);

/* Kernel's names of operations and flags of block requests, in its own numbers. Once. */
void control_page_block(struct probes *probes, const char *flag_names[32]);

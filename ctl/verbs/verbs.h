/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verbs. Each stands with its options in the file of its name: verbs/start.c has verb_start. */
#pragma once

#include "verb.h"

/* Headings of the help. */
#define VERBS_SESSIONS "Sessions"
#define VERBS_LOOK     "Live"
#define VERBS_TRACES   "Recorded traces"
#define VERBS_MACHINE  "Daemon and machine"

extern const struct verb verb_start, verb_stop, verb_record, verb_list, verb_status, verb_set, verb_rotate, verb_dump;
extern const struct verb verb_tail, verb_top, verb_amplification, verb_snapshot;
extern const struct verb verb_traces, verb_summary, verb_compare, verb_report, verb_show, verb_verify, verb_anonymize,
	verb_export;
extern const struct verb verb_streams, verb_doctor, verb_reload, verb_help, verb_version;

/* All of them in the order of the help; NULL ends the list. */
extern const struct verb *const verbs[];

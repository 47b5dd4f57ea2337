// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <stddef.h>

const struct verb *const verbs[] = {
	&verb_start,
	&verb_stop,
	&verb_record,
	&verb_list,
	&verb_status,
	&verb_set,
	&verb_rotate,
	&verb_dump,

	&verb_tail,
	&verb_top,
	&verb_amplification,
	&verb_snapshot,

	&verb_traces,
	&verb_summary,
	&verb_compare,
	&verb_report,
	&verb_show,
	&verb_verify,
	&verb_anonymize,
	&verb_export,

	&verb_streams,
	&verb_doctor,
	&verb_reload,
	&verb_help,
	&verb_version,
	NULL,
};

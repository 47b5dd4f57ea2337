/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that define a session, shared by the verbs that start one. */
#pragma once

#include "options.h"

/* One flag per stream of the catalogue, and those that stand for several. */
const struct option_group *stream_options(void);

/* The parameter that a filter's option sets, or NULL. */
const char *filter_parameter(const char *option);

extern const struct option_group process_options; /* which processes, by number */
extern const struct option_group filter_options;
extern const struct option_group output_options;
extern const struct option_group memory_options;
extern const struct option_group snapshot_options;

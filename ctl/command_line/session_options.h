/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that define a session, shared by the verbs that start one. */
#pragma once

#include "command_line/options.h"

/* Name of the filter option of that number, from 0 on, without dashes; NULL: there are no more. */
const char *filter_option(size_t number);

/* The parameter that a filter's option sets, or NULL. */
const char *filter_parameter(const char *option);

extern const struct option_group stream_options; /* one flag for each stream of the catalogue, and those for several */
extern const struct option_group process_options; /* selects processes by number */
extern const struct option_group filter_options;
extern const struct option_group limit_options;
extern const struct option_group output_options;
extern const struct option_group memory_options;
extern const struct option_group trigger_options;
extern const struct option_group snapshot_options;

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `iotracerd --check-config`: what is wrong in a configuration, before it is one that a daemon has. Main thread only. */
#pragma once

#include <stdbool.h>

#include "config/config.h"

/*
 * Reads the file and its drop-ins as config_examine() does, and the files of sessions beside it, or one of these, and
 * writes each finding to stderr as a line that begins with file and line. Whether all of it can be used: a name that nobody
 * knows in a configuration is a warning, as it is for the daemon. With `required`, the
 * file may be anybody's unless it is in its place; what lies beside it, as the daemon reads it, may not.
 */
bool config_check(const char *path, bool required);

/* Writes a finding to stderr, as a line of printable characters. */
void config_finding_print(enum config_finding finding, const char *sentence);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `iotracerd --dump-config`: what is in force, and from which file. Main thread only. */
#pragma once

#include <stdbool.h>

/*
 * Prints every setting of the file and its drop-ins, and the rules of storage systems, as a configuration file
 * that means the same; the comment before each names file and line, or says that it is the default. Findings go
 * to stderr. Whether the configuration can be used, as for config_check().
 */
bool config_dump(const char *path, bool required);

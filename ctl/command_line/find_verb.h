/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "verb.h"

/* Finds the verb of that name. Returns NULL after printing an error that suggests a similar one. */
const struct verb *find_verb(const struct context *context, const char *name);

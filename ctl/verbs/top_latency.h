/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `top --latency`: histograms that the kernel counts, of calls that read or write, and of what file systems and disks do. */
#pragma once

#include <json-c/json.h>

#include "verb.h"

/* Shows them until the user ends it; `parameters` may have an interval alone. Returns the exit code. */
int top_latency(struct context *context, struct json_object *parameters);

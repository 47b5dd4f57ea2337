/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Set: other filters for a session that runs. Main thread only. */
#pragma once

#include "call.h"
#include "context.h"

int set_call(struct call *call);

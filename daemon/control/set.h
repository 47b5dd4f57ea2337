/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The method Set: changes the filters of a running session. Main thread only. */
#pragma once

#include "call.h"
#include "context.h"

int set_call(struct call *call);

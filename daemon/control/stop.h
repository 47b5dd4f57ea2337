/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The method Stop, which replies when every row of the sessions is on disk. Main thread only. */
#pragma once

#include "call.h"

int stop_call(struct call *call);

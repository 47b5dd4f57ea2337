/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Top: who does what, a reply each interval. Behind it is a session of its own, a flight recorder
 * that ends with the call; when somebody stops it, the call ends. Main thread only.
 */
#pragma once

#include "call.h"
#include "context.h"

int top_call(struct call *call);

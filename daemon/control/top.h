/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The method Top: who does what, a reply for each interval. It uses a session of its own, a flight recorder
 * that ends with the call; if somebody stops that session, the call ends. Main thread only.
 */
#pragma once

#include "call.h"
#include "context.h"

int top_call(struct call *call);

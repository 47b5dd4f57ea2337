/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The method Tail: rows of one session as they are written, a reply for each, until the session ends or the
 * client disconnects. A client that does not read fast enough loses rows and gets their number. Main thread
 * only.
 */
#pragma once

#include "call.h"
#include "context.h"

int tail_call(struct call *call);

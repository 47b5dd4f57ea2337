/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tail: rows of one session as they are written, a reply each, until the session ends or the
 * client goes. A reader that is behind loses rows and is told how many. Main thread only.
 */
#pragma once

#include "call.h"
#include "context.h"

int tail_call(struct call *call);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshot: takes snapshots, and replies when they are taken; with `more` it tells how far they are
 * meanwhile. A client that goes cancels them. Main thread only.
 */
#pragma once

#include "call.h"

int snapshot_call(struct call *call);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The method Snapshot: takes snapshots, and replies when they are done; with `more` it reports progress
 * meanwhile. They are cancelled if the client disconnects. Main thread only.
 */
#pragma once

#include "call.h"

int snapshot_call(struct call *call);

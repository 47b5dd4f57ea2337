/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data plane after the rings, and all of it that others need to include:
 *
 *   ring callback → router_row() → queue → writer thread → cells → format → sink → segment
 *   └────── consumer thread ─────┘         └────────────── one per session ──────────────┘
 *
 * Who calls what:
 *
 *   consumer thread   names_add() and names_cycle_end(); router_begin(), router_row(), router_end()
 *   main thread       output_create(), writer_*(), router_attach(), router_detach(),
 *                     flags_set_block_bits()
 *
 * Rows that four sessions or more want as CSV in the clear are kept once (shared.h), with their lines (lines.h), in runs of
 * one stream (runs.h): the queues refer to a run, and each writer copies its lines at once, unless a limit, a rotation or a
 * live view wants a look at each row.
 *
 * A session's life: output_create() → writer_new() → router_attach() → rows flow, writer_rotate() →
 * the probes stop, the rings are drained once more → router_detach() → writer_report() →
 * writer_stop_begin(), and when that is done writer_free(). It then holds exactly, for each stream:
 *
 *   received = written + lost_queue + lost_disk
 *
 * A flight recorder stands in the writer's place: recorder_new() → router_attach_recorder() → rows
 * are kept → recorder_view_new(), whose rows go to a writer of their own, on a thread of their own
 * → router_detach() → recorder_free().
 *
 * Lifetimes: names outlive the router, and the names and the router outlive every writer and
 * recorder.
 */
#pragma once

#include "cells/flags.h"
#include "names.h"
#include "output.h"
#include "recorder.h"
#include "router.h"
#include "writer/writer.h"

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The streams of a session, as the protocol and dumps have them: sums over them, and a line for each. One thread. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "removal.h"

/* Prints a line per stream: rows, losses and bytes. */
void print_session_streams(struct json_object *session, FILE *stream);

/* Writes "vfs, block". Returns `text`. */
char *join_streams(struct json_object *session, char *text, size_t size);

/*
 * Writes "5 rows in 2 closed segments were removed, to keep within --keep-size", of a stream as status and manifest have it.
 * False: that limit removed nothing of it.
 */
bool format_removed(char *text, size_t size, struct json_object *stream, enum iotr_removal limit);

/*
 * Writes "2 operations were in flight at its end, and have no row; the oldest: READ of /srv/file by cat (123), since TIME", of an
 * element of `in_flight` as status and manifest have it.
 */
void format_in_flight(char *text, size_t size, struct json_object *entry);

/* Sums over all streams: rows written (or kept in memory), rows removed later, rows lost. */
uint64_t session_written(struct json_object *session);
uint64_t session_removed(struct json_object *session);
uint64_t session_lost(struct json_object *session);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output of sessions for people. The objects are those of the protocol and may lack any member. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Prints everything that is known. */
void print_session(struct json_object *session, FILE *stream);

/* Prints a line per stream: rows, losses and bytes. */
void print_session_streams(struct json_object *session, FILE *stream);

/* Writes "vfs, block". */
char *join_streams(struct json_object *session, char *text, size_t size);

/* Sums over all streams: rows written (or kept in memory), rows removed later, rows lost. */
uint64_t session_written(struct json_object *session);
uint64_t session_removed(struct json_object *session);
uint64_t session_lost(struct json_object *session);

/* Prints on stderr what this kernel cannot record. Returns whether there was anything. */
bool complain_missing(struct json_object *session);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions as people read them. Objects are those of the protocol and may lack any member. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Everything that is known. */
void print_session(struct json_object *session, FILE *stream);

/* A line per stream: rows, losses and bytes. */
void print_session_streams(struct json_object *session, FILE *stream);

/* "vfs, block" */
char *join_streams(struct json_object *session, char *text, size_t size);

/* Rows written (or kept in memory), removed later, and lost, over all streams. */
uint64_t session_written(struct json_object *session);
uint64_t session_removed(struct json_object *session);
uint64_t session_lost(struct json_object *session);

/* Names on stderr what this kernel cannot give. Whether there was any. */
bool complain_missing(struct json_object *session);

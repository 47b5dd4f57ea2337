/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the method Amplification replies, for people and as CSV. The object may lack any member. One thread. */
#pragma once

#include <json-c/json.h>
#include <stdio.h>

/* The summary by operations, by bytes and by layer, with what is not known and why. */
void print_amplification(struct json_object *reply, FILE *stream);

/* A line of names, and one for each group; what is not known is empty. Latencies are in microseconds. */
void print_amplification_csv(struct json_object *reply, FILE *stream);

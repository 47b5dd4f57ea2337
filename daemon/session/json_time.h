/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instants as members of a JSON object: UTC in ISO 8601, to the second. Any thread. */
#pragma once

#include <json-c/json.h>
#include <stdint.h>
#include <time.h>

void add_time(struct json_object *object, const char *key, const struct timespec *time);

/* `mono_ns` is of CLOCK_MONOTONIC. */
void add_mono_time(struct json_object *object, const char *key, uint64_t mono_ns);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collects the results of several requests to the engine, which may end later, for one reply: an array. It
 * keeps the call open. Main thread only.
 */
#pragma once

#include <json-c/json.h>

struct call;
struct gathering;

/* The results become member `key` of the reply, which is sent after the last gathering_end(). */
struct gathering *gathering_new(struct call *call, const char *key);

/* One more request is made. */
void gathering_begin(struct gathering *gathering);

/* Adds a result, of which this takes ownership. */
void gathering_add(struct gathering *gathering, struct json_object *result);

/*
 * A request has ended, or after all of them were made, their making: `result` is 0 or a negative errno, the
 * first of which is replied instead of the results. The gathering must not be used after the last one.
 */
void gathering_end(struct gathering *gathering, int result);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collects the results of requests to the engine about one session or several, which may end later, for one reply. It
 * keeps the call open. Main thread only.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

struct call;
struct gathering;
struct gathered; /* of one session */

/*
 * The results become the array `key` of the reply, which is sent when all requests have ended. One that fails is an error in
 * place of the reply; with `several` it is an object {name, reason} of the reply's array `failed`, as the others count.
 */
struct gathering *gathering_new(struct call *call, const char *key, bool several);

/* One more request is made. NULL: there is no memory. */
struct gathered *gathering_begin(struct gathering *gathering, const char *session);

/* Adds a result, of which this takes ownership. */
void gathered_add(struct gathered *gathered, struct json_object *result);

/* The request has ended with 0 or a negative errno, and `gathered` is freed. */
void gathered_end(struct gathered *gathered, int result);

/*
 * All requests were made: 0, or a negative errno, which is replied instead. The gathering must not be used any more.
 */
void gathering_end(struct gathering *gathering, int result);

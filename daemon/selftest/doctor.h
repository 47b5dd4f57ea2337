/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel lets the daemon do, and whether the hooks really give rows, as JSON: see engine_doctor_new().
 * Main thread.
 */
#pragma once

#include <json-c/json.h>

#include "selftest/run.h"

struct doctor;	      /* answers all requests */
struct engine_doctor; /* a request */

/* Called once, on the main loop; takes ownership of the array. */
typedef void (*doctor_handler)(struct json_object *checks, void *userdata);

/* The config is copied, except for the path. -ENOMEM. */
int doctor_new(const struct selftest_config *config, struct doctor **ret);

/* Ends the self-test that is running, if any: requests are answered with the results so far. Takes NULL. */
void doctor_free(struct doctor *doctor);

/* Asks for the checks. Requests at the same time share one self-test. -errno. */
int doctor_ask(struct doctor *doctor, doctor_handler handler, void *userdata, struct engine_doctor **ret);

/* Ends the request, before or after its handler was called. Takes NULL. */
void doctor_leave(struct engine_doctor *request);

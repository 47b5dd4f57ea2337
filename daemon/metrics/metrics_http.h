/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A listener that answers GET /metrics, for Prometheus. It runs on the event loop, has no thread, and at most
 * METRICS_CONNECTIONS connections, each of which is cut off after METRICS_VISIT_S, whatever it does. Where one more comes, the
 * oldest of the user who has most makes room, so that who asks and reads is served. Main thread.
 */
#pragma once

#include <stddef.h>
#include <systemd/sd-event.h>

enum { METRICS_CONNECTIONS = 64, METRICS_VISIT_S = 10 };

struct metrics_http;

/* Makes the text that is answered, which malloc() has made; NULL: there is none now. */
typedef char *(*metrics_maker)(size_t *length, void *userdata);

/* Takes over a socket that listens; negative errno: it is closed. */
int metrics_http_new(sd_event *event, int socket, metrics_maker make, void *userdata, struct metrics_http **ret);
void metrics_http_free(struct metrics_http *http); /* takes NULL */

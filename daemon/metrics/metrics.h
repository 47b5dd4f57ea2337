/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers about the daemon for Prometheus, as the configuration says: a listener, a file, both or none. Main thread. */
#pragma once

#include "config/config.h"
#include "engine.h"

struct metrics;

/* Nothing is told before metrics_set(). */
int metrics_new(struct engine *engine, sd_event *event, struct metrics **ret);

/* Tells as the configuration says now. What cannot be done is logged, and the daemon goes on without it. */
void metrics_set(struct metrics *metrics, const struct config_metrics *config);

/* Before the engine ends, which waits for nothing here. Takes NULL. */
void metrics_free(struct metrics *metrics);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signs of life for systemd (WatchdogSec=), as long as the main loop and each thread of the data plane move. Main thread.
 */
#pragma once

#include "engine.h"

struct watchdog;

/* Where systemd wants none, `*ret` is NULL. */
void watchdog_set(struct engine *engine, sd_event *event, struct watchdog **ret);
void watchdog_free(struct watchdog *watchdog); /* before the engine; takes NULL */

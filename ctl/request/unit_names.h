/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks the units of a session with systemd. The client asks, as the reply may take long and the daemon must
 * not wait. One thread.
 */
#pragma once

#include <json-c/json.h>

/*
 * Adds a sentence to the reply's warnings for each unit of its session that systemd does not know; it may be
 * installed later. Adds nothing if systemd does not answer soon, or if the session's names are hashed.
 */
void unit_names_check(struct json_object *reply);

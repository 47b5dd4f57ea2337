/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sessions of the engine that traces nothing tell; new objects. */
#pragma once

#include <json-c/json.h>

/* Counts of a stream, as in a session's status. */
struct json_object *fake_stream_status(const char *folder, const char *output);

/* A row of vfs, as for a tail. */
struct json_object *fake_row(const char *name);

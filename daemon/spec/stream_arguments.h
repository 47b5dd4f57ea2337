/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters that name streams and their operations: see arguments.h. Main thread only. */
#pragma once

#include "arguments.h"

enum { STREAM_NAMES_MAX = 256 };

/* Writes the names of the streams, a bit for each, as "net, conn"; returns the text. */
const char *stream_names(uint32_t streams, char text[STREAM_NAMES_MAX]);

/* An array of streams: adds their bits to the uint32_t target. */
int argument_streams(struct json_object *value, void *target, struct engine_error *error);

/* The target of these is a spec whose streams are set. */
int argument_operations(struct json_object *value, void *spec, struct engine_error *error);
int argument_sample(struct json_object *value, void *spec, struct engine_error *error);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parameters of Start for snapshots: each parser fills in its part of the spec's `snapshots` and marks it
 * as given. Main thread only.
 */
#pragma once

#include "arguments.h"

int snapshot_arguments_all(struct json_object *value, void *spec, struct engine_error *error);
int snapshot_arguments_system(struct json_object *value, void *spec, struct engine_error *error);
int snapshot_arguments_process(struct json_object *value, void *spec, struct engine_error *error);
int snapshot_arguments_filesystem(struct json_object *value, void *spec, struct engine_error *error);
int snapshot_arguments_root(struct json_object *value, void *spec, struct engine_error *error);
int snapshot_arguments_depth(struct json_object *value, void *spec, struct engine_error *error);

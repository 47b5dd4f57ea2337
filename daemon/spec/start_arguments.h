/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts the parameters of Start into the definition of a session and checks every limit of session_spec.h. Users
 * and devices are looked up on this machine. Main thread only.
 */
#pragma once

#include "arguments.h"
#include "session_spec.h"

/* Name of the parameter of that number, from 0 on; NULL after the last one. */
const char *start_arguments_name(size_t number);

/* Fills in `spec`, which the caller releases, even on an error. -EINVAL: see error. */
int start_arguments_read(struct json_object *parameters, struct iotr_session_spec *spec,
			 struct engine_error *error);

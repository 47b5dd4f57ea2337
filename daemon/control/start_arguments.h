/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parameters of Start as the definition of a session, every limit of session.h checked. Users
 * and devices are looked up here, on this machine. Main thread only.
 */
#pragma once

#include "arguments.h"
#include "session.h"

/* Names of the parameters, by their numbers from 0 on; NULL: there are no more. */
const char *start_arguments_name(size_t number);

/* `spec` is filled in and the caller's to release, also on error. -EINVAL: see error. */
int start_arguments_read(struct json_object *parameters, struct iotr_session_spec *spec,
			 struct engine_error *error);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output of sessions for people. The objects are those of the protocol and may lack any member. One thread. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

/* Prints everything that is known. */
void print_session(struct json_object *session, FILE *stream);

/* Prints on stderr what this kernel cannot record. Returns whether there was anything. */
bool complain_missing(struct json_object *session);

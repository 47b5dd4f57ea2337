/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The definition of a session, as it was requested, as JSON: for its manifest, for its status, and for the
 * note from which it is started again. A parameter of Start that is missing here is lost when the daemon ends;
 * tests/unit/test_definition.c covers all of them. Any thread.
 */
#pragma once

#include <json-c/json.h>

#include "session_spec.h"

/* Returns a new object, with the filters in its member "filters". */
struct json_object *definition_describe(const struct iotr_session_spec *spec);

/* The same for a note, which contains the output folder, too. */
struct json_object *definition_note(const struct iotr_session_spec *spec);

/*
 * Turns a definition into the parameters of Start: the names are the same, but the filters move to the top
 * level.
 */
void definition_flatten(struct json_object *definition);

/* Parts of the definition: the first two return new values, the others add to an object. */
struct json_object *definition_streams(uint32_t streams);
struct json_object *definition_filters(const struct iotr_session_spec *spec);
void definition_add_limits(struct json_object *object, const struct iotr_session_spec *spec);
void definition_add_storage(struct json_object *object, const struct iotr_session_spec *spec);

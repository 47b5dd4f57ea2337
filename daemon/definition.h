/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a session was asked to be, as JSON: for its manifest, for its status, and for the note from
 * which it begins anew. A parameter of Start that is missing here is lost when the daemon ends:
 * tests/unit/test_definition.c knows them all. Any thread.
 */
#pragma once

#include <json-c/json.h>

#include "session.h"

/* New object, with the filters in "filters". */
struct json_object *definition_describe(const struct iotr_session_spec *spec);

/* The same for a note, which needs the folder too. */
struct json_object *definition_note(const struct iotr_session_spec *spec);

/* Makes parameters of Start of it, which are the same words: the filters are among the others. */
void definition_flatten(struct json_object *definition);

/* Parts of it: new ones; and what is added to an object. */
struct json_object *definition_streams(uint32_t streams);
struct json_object *definition_filters(const struct iotr_session_spec *spec);
void definition_add_limits(struct json_object *object, const struct iotr_session_spec *spec);
void definition_add_storage(struct json_object *object, const struct iotr_session_spec *spec);

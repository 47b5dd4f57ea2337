/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keys of a session file, which are the options of `iotracectl start` without dashes, and how their values become the
 * parameters of Start. Main thread only.
 */
#pragma once

#include <json-c/json.h>

struct session_word;

/* The word that the key is, or NULL; `*near`: the one that it resembles, or NULL. */
const struct session_word *session_word_find(const char *key, const char **near);

/* The key that sets the parameter, or the parameter's name where several do. */
const char *session_word_of(const char *parameter);

/* The parameter of Start that it sets. */
const char *session_word_parameter(const struct session_word *word);

/*
 * Sets the parameter, or adds to it where it is a list; an empty value takes back what came before. Returns NULL, or what is
 * wrong with the value and what would be right.
 */
const char *session_word_take(const struct session_word *word, const char *value, struct json_object *parameters);

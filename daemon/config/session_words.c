// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/session_words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "filters.def"
#include "nearest.h"
#include "protocol.h"
#include "schema.h"
#include "session_options.def"
#include "units.h"

typedef const char *taker(const struct session_word *word, const char *value, struct json_object *parameters);

struct session_word {
	const char *key;
	taker *take;
	const char *parameter;
	const char *choices; /* CHOICE: what may stand there; STREAMS: a comma before each, NULL for all of them */
};

/* ---- values ---- */

static bool is_one_of(const char *value, const char *const words[])
{
	for (size_t i = 0; words[i]; i++)
		if (!strcmp(value, words[i]))
			return true;
	return false;
}

/* Returns whether the value is a truth, which `*ret` becomes. */
static bool parse_flag(const char *value, bool *ret)
{
	static const char *const yes[] = { "yes", "on", "true", "1", NULL };
	static const char *const no[] = { "no", "off", "false", "0", NULL };

	*ret = is_one_of(value, yes);
	return *ret || is_one_of(value, no);
}

#define NO_FLAG "write yes or no"

static const char *set_flag(const struct session_word *word, bool flag, struct json_object *parameters)
{
	json_object_object_add(parameters, word->parameter, json_object_new_boolean(flag));
	return NULL;
}

static const char *take_ON_OFF(const struct session_word *word, const char *value, struct json_object *parameters)
{
	bool on;

	return parse_flag(value, &on) ? set_flag(word, on, parameters) : "write on or off";
}

static const char *take_SWITCH(const struct session_word *word, const char *value, struct json_object *parameters)
{
	bool on;

	return parse_flag(value, &on) ? set_flag(word, on, parameters) : NO_FLAG;
}

/* no-snapshots=yes is snapshots: false; with no it says nothing. */
static const char *take_NOT(const struct session_word *word, const char *value, struct json_object *parameters)
{
	bool on;

	if (!parse_flag(value, &on))
		return NO_FLAG;
	if (on)
		return set_flag(word, false, parameters);
	json_object_object_del(parameters, word->parameter);
	return NULL;
}

static const char *set_text(const struct session_word *word, const char *value, struct json_object *parameters)
{
	json_object_object_add(parameters, word->parameter, json_object_new_string(value));
	return NULL;
}

/* Start says what it takes. */
static const char *take_CHOICE(const struct session_word *word, const char *value, struct json_object *parameters)
{
	return set_text(word, value, parameters);
}

static const char *take_PATH(const struct session_word *word, const char *value, struct json_object *parameters)
{
	return *value == '/' ? set_text(word, value, parameters) : "write a path that begins with /";
}

static const char *take_ITEM(const struct session_word *word, const char *value, struct json_object *parameters)
{
	json_object_array_add(iotr_parameter_list(parameters, word->parameter), json_object_new_string(value));
	return NULL;
}

static const char *take_PATHS(const struct session_word *word, const char *value, struct json_object *parameters)
{
	return *value == '/' ? take_ITEM(word, value, parameters) : "write a path that begins with /";
}

static const char *take_TEXTS(const struct session_word *word, const char *value, struct json_object *parameters)
{
	_cleanup_free_ char *copy = strdup(value);
	char *rest = copy, *part;

	while ((part = strsep(&rest, ","))) {
		if (!*part)
			return "a part of the list is empty: write NAME,NAME";
		take_ITEM(word, part, parameters);
	}
	return NULL;
}

static const char *set_quantity(const struct session_word *word, int r, uint64_t quantity, const char *what,
				struct json_object *parameters)
{
	if (r == -ERANGE || quantity > INT64_MAX)
		return "it is out of range";
	if (r < 0)
		return what;
	json_object_object_add(parameters, word->parameter, json_object_new_int64((int64_t)quantity));
	return NULL;
}

static const char *take_NUMBER(const struct session_word *word, const char *value, struct json_object *parameters)
{
	uint64_t number = 0;
	int r = iotr_parse_number(value, INT64_MAX, &number);

	return set_quantity(word, r, number, "write a whole number", parameters);
}

static const char *take_COUNT(const struct session_word *word, const char *value, struct json_object *parameters)
{
	uint64_t number = 0;
	int r = iotr_parse_number(value, INT64_MAX, &number);

	return set_quantity(word, r >= 0 && !number ? -EINVAL : r, number, "write a whole number above 0", parameters);
}

static const char *take_DURATION(const struct session_word *word, const char *value, struct json_object *parameters)
{
	uint64_t duration = 0;
	int r = iotr_parse_duration(value, &duration);

	return set_quantity(word, r, duration, "write a time such as 30s, 5m, 1h, 5ms or 250us", parameters);
}

static const char *take_SIZE(const struct session_word *word, const char *value, struct json_object *parameters)
{
	uint64_t size = 0;
	int r = iotr_parse_size(value, &size);

	return set_quantity(word, r, size, "write a size such as 4096, 64K, 128M or 1.5G", parameters);
}

static const char *take_DURATION_OFF(const struct session_word *word, const char *value, struct json_object *parameters)
{
	return strcmp(value, "off") ? take_DURATION(word, value, parameters) : set_quantity(word, 0, 0, NULL, parameters);
}

static const char *take_SIZE_OFF(const struct session_word *word, const char *value, struct json_object *parameters)
{
	return strcmp(value, "off") ? take_SIZE(word, value, parameters) : set_quantity(word, 0, 0, NULL, parameters);
}

static const char *take_KEY(const struct session_word *word, const char *value, struct json_object *parameters)
{
	bool host = !strcmp(value, "host");

	if (!host && strcmp(value, "session") != 0)
		return "write session or host";
	json_object_object_add(parameters, "anonymize_host", json_object_new_boolean(host));
	return set_flag(word, true, parameters);
}

/* `value` is STREAM=N, or N where the word says of which stream. */
static const char *take_SAMPLE(const struct session_word *word, const char *value, struct json_object *parameters)
{
	_cleanup_free_ char *stream = strdup(word->choices ?: value);
	struct json_object *sample = NULL;
	const char *share = value;
	uint64_t number;
	char *equals = strchr(stream, '=');

	if (!word->choices) {
		if (!equals)
			return "write STREAM=N, as in cache=10";
		*equals = '\0';
		share = value + (equals - stream) + 1;
	}
	if (iotr_stream_find(stream) < 0)
		return "there is no such stream; write STREAM=N, as in cache=10";
	if (iotr_parse_number(share, INT64_MAX, &number) < 0)
		return "write a whole number, for one in so many events";
	if (!json_object_object_get_ex(parameters, word->parameter, &sample)) {
		sample = json_object_new_object();
		json_object_object_add(parameters, word->parameter, sample);
	}
	json_object_object_add(sample, stream, json_object_new_int64((int64_t)number));
	return NULL;
}

static bool is_member(const char *members, const char *flag)
{
	size_t length = strlen(flag);

	for (const char *at = strchr(members, ','); at; at = strchr(at + 1, ','))
		if (!strncmp(at + 1, flag, length) && (at[length + 1] == ',' || !at[length + 1]))
			return true;
	return false;
}

/* Takes a text out of a list, which goes with its last element. */
static void remove_item(struct json_object *parameters, const char *name, const char *text)
{
	struct json_object *list = NULL;

	if (!json_object_object_get_ex(parameters, name, &list))
		return;
	for (size_t i = json_object_array_length(list); i--;)
		if (!strcmp(json_object_get_string(json_object_array_get_idx(list, i)), text))
			json_object_array_del_idx(list, i, 1);
	if (!json_object_array_length(list))
		json_object_object_del(parameters, name);
}

/* What comes later in the file holds: all=yes and then cache=no is all but cache. */
static const char *take_STREAMS(const struct session_word *word, const char *value, struct json_object *parameters)
{
	bool on;

	if (!parse_flag(value, &on))
		return NO_FLAG;
	for (size_t i = 0; i < IOTR_STREAM_COUNT; i++) {
		const char *flag = iotr_schemas[i].flag;

		if (word->choices && !is_member(word->choices, flag))
			continue;
		remove_item(parameters, word->parameter, flag);
		if (on)
			json_object_array_add(iotr_parameter_list(parameters, word->parameter), json_object_new_string(flag));
	}
	return NULL;
}

/* ---- the words ---- */

#define NETWORK(name) "," #name
#define STORAGE(name)
#define MEMBER(id, name, folder, object, calls, names, part, ...) part(name)
#define STREAM(id, name, ...)					  { #name, take_STREAMS, "streams", "," #name },
#define FILTER(id, name, kind, type, count, fact, word, of_all, option, reads, ...) { option, take_##reads, #name, NULL },
#define OPTION(option, kind, parameter, ...)			  { option, take_##kind, parameter, NULL },

static const struct session_word words[] = {
	IOTR_STREAMS(STREAM)
	{ "network", take_STREAMS, "streams", IOTR_STREAMS(MEMBER) },
	{ "all", take_STREAMS, "streams", NULL },
	IOTR_OTHER_FILTERS(FILTER)
	{ "cache-sample-rate", take_SAMPLE, "sample", "cache" },
	IOTR_SESSION_OPTIONS(OPTION)
};

enum { WORDS = sizeof(words) / sizeof(words[0]) };

const struct session_word *session_word_find(const char *key, const char **near)
{
	struct iotr_nearest nearest = { .word = key };

	for (size_t i = 0; i < WORDS; i++) {
		if (!strcmp(words[i].key, key))
			return &words[i];
		iotr_nearest_try(&nearest, words[i].key);
	}
	*near = nearest.best;
	return NULL;
}

const char *session_word_of(const char *parameter)
{
	if (!strcmp(parameter, "streams"))
		return parameter;
	if (!strcmp(parameter, "anonymize_host"))
		return "anonymize";
	for (size_t i = 0; i < WORDS; i++)
		if (!strcmp(words[i].parameter, parameter))
			return words[i].key;
	return parameter;
}

const char *session_word_parameter(const struct session_word *word)
{
	return word->parameter;
}

const char *session_word_take(const struct session_word *word, const char *value, struct json_object *parameters)
{
	if (*value)
		return word->take(word, value, parameters);
	if (word->take != take_STREAMS)
		json_object_object_del(parameters, word->parameter);
	return NULL;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "trigger_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "schema.h"
#include "units.h"

enum {
	WORDS_MAX = 8,	/* the longest one has seven */
	ERRNO_MAX = 134, /* above all errors that calls have */
};

/* The words of a text, and which one comes next. */
struct words {
	char text[2 * IOTR_TRIGGER_TEXT_MAX + 1]; /* copy of the text, in which words end with NUL */
	const char *word[WORDS_MAX + 1]; /* "" after the last one */
	size_t count, next;
};

/* ---- words ---- */

static const char *peek(const struct words *words)
{
	return words->next < words->count ? words->word[words->next] : "";
}

static const char *take(struct words *words)
{
	const char *word = peek(words);

	words->next += *word != '\0';
	return word;
}

/* Refuses a word for want of what may stand in its place. */
static int refuse(struct engine_error *error, const char *word, const char *wanted)
{
	if (!*word)
		return argument_refuse(error, "a word is missing at the end: %s", wanted);
	return argument_refuse(error, "'%.64s': %s", word, wanted);
}

static int split(const char *text, struct words *words, struct engine_error *error)
{
	char *at = words->text, *rest, *word;

	*words = (struct words){ 0 };
	if (strlen(text) > IOTR_TRIGGER_TEXT_MAX)
		return argument_refuse(error, "a trigger has at most %d characters, and this one %zu", IOTR_TRIGGER_TEXT_MAX,
				       strlen(text));
	for (; *text; text++) {
		if (*text == '>')
			*at++ = ' ';
		*at++ = *text;
		if (*text == '>')
			*at++ = ' ';
		if ((size_t)(at - words->text) > sizeof(words->text) - 4)
			return argument_refuse(error, "it has too many '>': one is right");
	}
	*at = '\0';
	rest = words->text;
	while ((word = strsep(&rest, " \t"))) {
		if (!*word)
			continue;
		if (words->count == WORDS_MAX)
			return refuse(error, word, "the trigger should have ended before this word");
		words->word[words->count++] = word;
	}
	return 0;
}

static int expect_above(struct words *words, struct engine_error *error)
{
	const char *word = take(words);

	return strcmp(word, ">") ? refuse(error, word, "write '>' and what the value has to be above") : 0;
}

/* ---- values ---- */

static int take_time(struct words *words, uint64_t most, uint64_t *ret, struct engine_error *error)
{
	const char *word = take(words);
	char limit[32];

	if (iotr_parse_duration(word, ret) < 0)
		return refuse(error, word, "write a time such as 50ms, 250us or 10s");
	if (*ret <= most)
		return 0;
	return argument_refuse(error, "'%.64s': the longest time here is %s", word,
			       iotr_format_duration(limit, sizeof(limit), most));
}

static int take_rate(struct words *words, uint64_t *ret, struct engine_error *error)
{
	const char *word = take(words);
	size_t length = strlen(word);
	char number[24];

	if (length > 2 && !strcmp(word + length - 2, "/s"))
		length -= 2;
	if (!length || length >= sizeof(number))
		return refuse(error, word, "write a number per second, such as 10/s");
	snprintf(number, sizeof(number), "%.*s", (int)length, word);
	if (iotr_parse_number(number, IOTR_TRIGGER_RATE_MAX, ret) < 0)
		return refuse(error, word, "write a whole number per second up to 1000000000, such as 10/s");
	return 0;
}

static int take_percent(struct words *words, uint64_t *ret, struct engine_error *error)
{
	const char *word = take(words);
	char *end = NULL;
	double percent = strtod(word, &end);

	if (*word < '0' || *word > '9' || (*end && strcmp(end, "%")) || !(percent >= 0 && percent < 100))
		return refuse(error, word, "write a share of time below 100%, such as 20%");
	*ret = (uint64_t)(percent * 100 + 0.5);
	return 0;
}

/* ---- operations ---- */

static int find_operation(const char *word, struct iotr_trigger *trigger, struct engine_error *error)
{
	const char *dot = strchr(word, '.');
	char flag[32];
	int stream;

	snprintf(flag, sizeof(flag), "%.*s", (int)(dot - word), word);
	stream = iotr_stream_find(flag);
	if (stream != IOTR_VFS && stream != IOTR_BLOCK)
		return argument_refuse(error, "'%.64s': triggers know the operations of vfs and block, as in vfs.FSYNC, and "
					      "pressure.io", word);
	for (size_t i = 0; i < iotr_schemas[stream].operation_count; i++)
		if (!strcmp(iotr_schemas[stream].operations[i], dot + 1)) {
			trigger->stream = (uint8_t)stream;
			trigger->operation = (uint8_t)i;
			return 0;
		}
	return argument_refuse(error, "'%.64s': %s has no such operation; 'iotracectl streams %s' lists them", word, flag, flag);
}

/* "99", "99.9", as parts of a thousand; 0: it is none. */
static unsigned int permille_of(const char *text)
{
	char *end = NULL;
	unsigned long whole = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0, tenth = 0;

	if (!end || whole > 99)
		return 0;
	if (*end == '.' && end[1] >= '0' && end[1] <= '9' && !end[2])
		tenth = (unsigned long)(end[1] - '0');
	else if (*end)
		return 0;
	return (unsigned int)(whole * 10 + tenth);
}

static int errno_of(const char *name)
{
	for (int error = 1; error < ERRNO_MAX; error++) {
		const char *of = strerrorname_np(error);

		if (of && !strcmp(of, name))
			return error;
	}
	return 0;
}

static int find_measure(const char *word, struct iotr_trigger *trigger, struct engine_error *error)
{
	if (*word == 'p' && (trigger->permille = permille_of(word + 1)))
		trigger->measure = IOTR_MEASURE_PERCENTILE;
	else if (!strcmp(word, "max"))
		trigger->measure = IOTR_MEASURE_MAX;
	else if (!strcmp(word, "mean"))
		trigger->measure = IOTR_MEASURE_MEAN;
	else if (!strcmp(word, "rate"))
		trigger->measure = IOTR_MEASURE_RATE;
	else if (!strcmp(word, "errors"))
		trigger->measure = IOTR_MEASURE_ERRORS;
	else if ((trigger->error = errno_of(word)))
		trigger->measure = IOTR_MEASURE_ERRNO;
	else
		return refuse(error, word, "write p50, p99, p99.9, max or mean with a time, or rate, errors or an error such as "
					   "ENOSPC with a number per second");
	return 0;
}

static int read_operation(struct words *words, struct iotr_trigger *trigger, struct engine_error *error)
{
	int r = find_operation(take(words), trigger, error);

	if (r >= 0)
		r = find_measure(take(words), trigger, error);
	if (r >= 0)
		r = expect_above(words, error);
	if (r < 0)
		return r;
	if (trigger->measure < IOTR_MEASURE_RATE)
		return take_time(words, IOTR_TRIGGER_LATENCY_MAX_NS, &trigger->above, error);
	return take_rate(words, &trigger->above, error);
}

/* ---- the other sources ---- */

static int find_word(const char *word, const char *const *choices, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(word, choices[i]))
			return (int)i;
	return -1;
}

#define FIND(word, ...)                                                                         \
	find_word(word, (const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static int read_pressure(struct words *words, struct iotr_trigger *trigger, struct engine_error *error)
{
	static const unsigned int seconds[] = { 10, 60, 300 };
	const char *word = take(words);
	int of = FIND(word + strlen("pressure."), "cpu", "memory", "io"), some, average;

	if (of < 0)
		return refuse(error, word, "write pressure.cpu, pressure.memory or pressure.io");
	trigger->source = IOTR_TRIGGER_PRESSURE;
	trigger->pressure = (enum iotr_pressure)of;
	word = take(words);
	some = FIND(word, "some", "full");
	if (some < 0)
		return refuse(error, word, "write some or full");
	trigger->full = some;
	average = FIND(peek(words), "avg10", "avg60", "avg300");
	if (average >= 0) {
		trigger->average = seconds[average];
		take(words);
	}
	some = expect_above(words, error);
	return some < 0 ? some : take_percent(words, &trigger->above, error);
}

static int read_unit(struct words *words, struct iotr_trigger *trigger, struct engine_error *error)
{
	const char *name, *state;

	take(words);
	trigger->source = IOTR_TRIGGER_UNIT;
	name = take(words);
	if (!strchr(name, '.') || strchr(name, '/'))
		return refuse(error, name, "write the name of a unit with its ending, such as nginx.service");
	if (strlen(name) > IOTR_TRIGGER_UNIT_MAX)
		return argument_refuse(error, "a unit's name has at most %d characters here, and this one %zu",
				       IOTR_TRIGGER_UNIT_MAX, strlen(name));
	state = take(words);
	if (FIND(state, "active", "reloading", "inactive", "failed", "activating", "deactivating") < 0)
		return refuse(error, state, "write a unit's state: active, reloading, inactive, failed, activating or deactivating");
	strcpy(trigger->unit, name);
	strcpy(trigger->state, state);
	return 0;
}

static int read_lost(struct words *words, struct iotr_trigger *trigger, struct engine_error *error)
{
	int r;

	take(words);
	trigger->source = IOTR_TRIGGER_LOST;
	r = expect_above(words, error);
	return r < 0 ? r : take_rate(words, &trigger->above, error);
}

static int read_source(struct words *words, struct iotr_trigger *trigger, struct engine_error *error)
{
	const char *word = peek(words);

	if (!strcmp(word, "unit"))
		return read_unit(words, trigger, error);
	if (!strcmp(word, "lost"))
		return read_lost(words, trigger, error);
	if (!strncmp(word, "pressure.", strlen("pressure.")))
		return read_pressure(words, trigger, error);
	if (strchr(word, '.'))
		return read_operation(words, trigger, error);
	return refuse(error, word, "a trigger begins with STREAM.OPERATION, pressure.io, 'unit' or 'lost', as in "
				   "'vfs.FSYNC p99 > 50ms for 10s'");
}

static int read_for(struct words *words, struct iotr_trigger *trigger, struct engine_error *error)
{
	const char *word = take(words);
	int r;

	if (!*word)
		return 0;
	if (strcmp(word, "for") != 0)
		return refuse(error, word, "here the trigger may end, or go on with 'for' and a time");
	r = take_time(words, IOTR_TRIGGER_FOR_MAX_NS, &trigger->for_ns, error);
	word = peek(words);
	return r >= 0 && *word ? refuse(error, word, "the trigger should have ended before this word") : r;
}

int trigger_parse(const char *text, struct iotr_trigger *ret, struct engine_error *error)
{
	struct words words;
	int r = split(text, &words, error);

	*ret = (struct iotr_trigger){ .source = IOTR_TRIGGER_OPERATION };
	if (r >= 0)
		r = read_source(&words, ret, error);
	if (r >= 0)
		r = read_for(&words, ret, error);
	if (r >= 0)
		strcpy(ret->text, text);
	return r;
}

char *trigger_format(const struct iotr_trigger *trigger, uint64_t value, char *text, size_t size)
{
	if (trigger->source == IOTR_TRIGGER_UNIT)
		snprintf(text, size, "%s", value ? trigger->state : "another state");
	else if (trigger->source == IOTR_TRIGGER_PRESSURE)
		snprintf(text, size, "%" PRIu64 ".%02" PRIu64 "%%", value / 100, value % 100);
	else if (trigger->source == IOTR_TRIGGER_OPERATION && trigger->measure < IOTR_MEASURE_RATE)
		iotr_format_duration(text, size, value);
	else
		snprintf(text, size, "%" PRIu64 "/s", value);
	return text;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "stream_arguments.h"

#include <stdio.h>
#include <string.h>

#include "nearest.h"
#include "schema.h"
#include "session_spec.h"

#define ALL_STREAMS ((1U << IOTR_STREAM_COUNT) - 1)

const char *stream_names(uint32_t streams, char text[STREAM_NAMES_MAX])
{
	size_t at = 0;

	*text = '\0';
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (streams >> stream & 1)
			at += (size_t)snprintf(text + at, STREAM_NAMES_MAX - at, "%s%s", at ? ", " : "",
					       iotr_schemas[stream].flag);
	return text;
}

/* ---- streams ---- */

static int refuse_unknown(struct engine_error *error, const char *flag)
{
	struct iotr_nearest nearest = { .word = flag };
	char all[STREAM_NAMES_MAX];

	for (size_t i = 0; i < IOTR_STREAM_COUNT; i++)
		iotr_nearest_try(&nearest, iotr_schemas[i].flag);
	return argument_refuse(error, "there is no stream '%.64s'%s%s%s: there are %s", flag,
			       nearest.best ? ", did you mean '" : "", nearest.best ?: "",
			       nearest.best ? "'?" : "", stream_names(ALL_STREAMS, all));
}

static int add_stream(struct json_object *value, void *target, struct engine_error *error)
{
	const char *flag = NULL;
	int stream, r;

	r = argument_string(value, &flag, error);
	if (r < 0)
		return r;
	stream = iotr_stream_find(flag);
	if (stream < 0)
		return refuse_unknown(error, flag);
	*(uint32_t *)target |= 1u << stream;
	return 0;
}

int argument_streams(struct json_object *value, void *target, struct engine_error *error)
{
	return argument_list(value, add_stream, target, error);
}

/* ---- operations ---- */

/* Those of the streams that have an operation of that name. */
static uint32_t streams_with(uint32_t streams, const char *operation)
{
	uint32_t with = 0;

	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (streams >> stream & 1 && iotr_operation_find((enum iotr_stream)stream, operation) >= 0)
			with |= 1U << stream;
	return with;
}

/*
 * Writes "there are READ, WRITE" for these streams, or a reference to the list if there are too many for a
 * sentence.
 */
static void tell_operations(uint32_t streams, char *text, size_t size)
{
	size_t at = 0;

	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		const struct iotr_schema *schema = &iotr_schemas[stream];

		for (size_t i = 0; streams >> stream & 1 && i < schema->operation_count; i++) {
			at += (size_t)snprintf(text + at, size - at, "%s%s", at ? ", " : "there are ",
					       schema->operations[i]);
			if (at < size)
				continue;
			snprintf(text, size, "'iotracectl streams' lists them");
			return;
		}
	}
}

/* Explains why the streams have no such operation: others have it, or it is a typing error. */
static int refuse_operation(struct engine_error *error, uint32_t streams, const char *name)
{
	uint32_t owners = streams_with(ALL_STREAMS, name);
	struct iotr_nearest nearest = { .word = name };
	char names[STREAM_NAMES_MAX], all[400] = "";

	if (owners)
		return argument_refuse(error, "'%.64s' is an operation of other streams: %s", name,
				       stream_names(owners, names));
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		for (size_t i = 0; streams >> stream & 1 && i < iotr_schemas[stream].operation_count; i++)
			iotr_nearest_try(&nearest, iotr_schemas[stream].operations[i]);
	tell_operations(streams, all, sizeof(all));
	return argument_refuse(error, "no stream of the session has an operation '%.64s'%s%s%s: %s", name,
			       nearest.best ? ", did you mean '" : "", nearest.best ?: "",
			       nearest.best ? "'?" : "", all);
}

/* Refuses the part before the dot, as it is none of the session's streams. */
static int refuse_stream(struct engine_error *error, const char *text, size_t length)
{
	char flag[65];

	snprintf(flag, sizeof(flag), "%.*s", (int)(length > 64 ? 64 : length), text);
	if (iotr_stream_find(flag) < 0)
		return refuse_unknown(error, flag);
	return argument_refuse(error, "'%.64s': the session has no stream '%s'", text, flag);
}

/* READ, of each stream that has such an operation, or vfs.READ. */
static int add_operation(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *text = NULL, *dot, *name;
	uint32_t streams = spec->streams, with;
	int r = argument_string(value, &text, error);

	if (r < 0)
		return r;
	dot = strchr(text, '.');
	name = dot ? dot + 1 : text;
	for (int stream = 0; dot && stream < IOTR_STREAM_COUNT; stream++) {
		const char *flag = iotr_schemas[stream].flag;

		if (strlen(flag) != (size_t)(dot - text) || strncmp(flag, text, strlen(flag)))
			streams &= ~(1u << stream);
	}
	if (!streams)
		return refuse_stream(error, text, (size_t)(dot - text));
	with = streams_with(streams, name);
	if (!with)
		return refuse_operation(error, streams, name);
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (with >> stream & 1)
			iotr_operations_add(&spec->operations[stream],
					    (unsigned int)iotr_operation_find((enum iotr_stream)stream, name));
	return 0;
}

int argument_operations(struct json_object *value, void *spec, struct engine_error *error)
{
	return argument_list(value, add_operation, spec, error);
}

/* {"cache": 10}: one event in 10. */
int argument_sample(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	if (!json_object_is_type(value, json_type_object))
		return argument_refuse(error, "it is not an object with a number for each stream");
	json_object_object_foreach(value, flag, number)
	{
		int stream = iotr_stream_find(flag);
		uint64_t sample;

		if (stream < 0)
			return refuse_unknown(error, flag);
		if (argument_number(number, 1, IOTR_SAMPLE_MAX, &sample, error) < 0)
			return argument_refuse(error, "%s: N of one in N events is from 1 to %d", flag,
					       IOTR_SAMPLE_MAX);
		spec->sample[stream] = (uint32_t)sample;
	}
	return 0;
}

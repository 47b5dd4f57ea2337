// SPDX-License-Identifier: GPL-2.0-or-later
#include "losses.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clocks.h"
#include "log.h"
#include "schema.h"
#include "session_spec.h"

const char *const loss_names[LOSS_CAUSES] = {
	[LOSS_RING] = "ring",
	[LOSS_QUEUE] = "queue",
	[LOSS_DISK] = "disk",
	[LOSS_UNMATCHED] = "unmatched",
};

struct entry {
	uint8_t stream, cause;
	uint32_t looks; /* number of looks that found these rows */
	uint64_t rows, from_ns, to_ns; /* CLOCK_MONOTONIC */
};

struct losses {
	pthread_mutex_t lock;
	char session[IOTR_SESSION_NAME_MAX + 1];
	uint64_t looked_ns; /* of the last look, CLOCK_MONOTONIC */
	struct losses_counts seen; /* counts at the last look */
	struct entry entries[LOSSES_MAX];
	size_t count;
	bool fresh; /* there are entries that losses_describe() has not returned yet */
	struct entry unlogged[IOTR_STREAM_COUNT][LOSS_CAUSES]; /* not logged yet; rows 0: nothing */
	uint64_t quiet_until_ns[IOTR_STREAM_COUNT][LOSS_CAUSES]; /* CLOCK_MONOTONIC: no line before; 0: there was none */
};

int losses_new(const char *session, struct losses **ret)
{
	struct losses *losses = calloc(1, sizeof(*losses));

	if (!losses)
		return -ENOMEM;
	pthread_mutex_init(&losses->lock, NULL);
	snprintf(losses->session, sizeof(losses->session), "%s", session ?: "");
	losses->looked_ns = clocks_mono_ns();
	*ret = losses;
	return 0;
}

void losses_free(struct losses *losses)
{
	if (!losses)
		return;
	pthread_mutex_destroy(&losses->lock);
	free(losses);
}

static void widen(struct entry *entry, const struct entry *by)
{
	entry->from_ns = entry->rows && entry->from_ns < by->from_ns ? entry->from_ns : by->from_ns;
	entry->to_ns = entry->to_ns > by->to_ns ? entry->to_ns : by->to_ns;
	entry->rows += by->rows;
	entry->looks += by->looks;
}

/* Merges entries in pairs, for each stream and cause: the second into the first, the fourth into the third. */
static void halve(struct losses *losses)
{
	struct entry *first[IOTR_STREAM_COUNT][LOSS_CAUSES] = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < losses->count; i++) {
		struct entry *entry = &losses->entries[i];
		struct entry **partner = &first[entry->stream][entry->cause];

		if (*partner) {
			widen(*partner, entry);
			*partner = NULL;
		} else {
			losses->entries[kept] = *entry;
			*partner = &losses->entries[kept++];
		}
	}
	losses->count = kept;
}

static void add(struct losses *losses, const struct entry *entry)
{
	if (losses->count == LOSSES_MAX)
		halve(losses);
	losses->entries[losses->count++] = *entry;
	widen(&losses->unlogged[entry->stream][entry->cause], entry);
	losses->fresh = true;
}

/*
 * Rows that were counted for one cause may turn out to be of another: those that the queue lost while a disk
 * did not answer. Takes `rows` back from the latest entries of the first cause, and returns when the earliest
 * of these began.
 */
static uint64_t take_back(struct losses *losses, enum iotr_stream stream, enum loss_cause cause, uint64_t rows)
{
	struct entry *unlogged = &losses->unlogged[stream][cause];
	uint64_t from_ns = losses->looked_ns;

	unlogged->rows -= rows < unlogged->rows ? rows : unlogged->rows;
	for (size_t i = losses->count; rows && i-- > 0;) {
		struct entry *entry = &losses->entries[i];
		uint64_t part = rows < entry->rows ? rows : entry->rows;

		if (entry->stream != stream || entry->cause != cause)
			continue;
		from_ns = entry->from_ns;
		rows -= part;
		entry->rows -= part;
		if (!entry->rows)
			memmove(entry, entry + 1, (--losses->count - i) * sizeof(*entry));
	}
	losses->fresh = true;
	return from_ns;
}

static void look_at(struct losses *losses, enum iotr_stream stream, const struct losses_counts *counts,
		    uint64_t now)
{
	const uint64_t *rows = counts->rows[stream], *seen = losses->seen.rows[stream];
	uint64_t from_ns = losses->looked_ns;

	for (enum loss_cause cause = 0; cause < LOSS_CAUSES; cause++)
		if (rows[cause] < seen[cause]) {
			uint64_t began = take_back(losses, stream, cause, seen[cause] - rows[cause]);

			from_ns = began < from_ns ? began : from_ns;
		}
	for (enum loss_cause cause = 0; cause < LOSS_CAUSES; cause++)
		if (rows[cause] > seen[cause])
			add(losses, &(struct entry){ .stream = (uint8_t)stream,
						     .cause = (uint8_t)cause,
						     .looks = 1,
						     .rows = rows[cause] - seen[cause],
						     .from_ns = from_ns,
						     .to_ns = now });
}

bool losses_look(struct losses *losses, losses_read read, void *userdata, struct losses_counts *ret)
{
	struct losses_counts counts = { 0 };
	uint64_t now;
	bool fresh;

	pthread_mutex_lock(&losses->lock);
	read(&counts, userdata);
	now = clocks_mono_ns();
	for (enum iotr_stream stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		look_at(losses, stream, &counts, now);
	losses->seen = counts;
	losses->looked_ns = now;
	fresh = losses->fresh;
	pthread_mutex_unlock(&losses->lock);
	if (ret)
		*ret = counts;
	return fresh;
}

static const char *time_of(char text[CLOCKS_TEXT_MAX], uint64_t mono_ns)
{
	return clocks_format(text, mono_ns + (uint64_t)clocks_at(mono_ns).offset_ns);
}

/* Whether `*ret` is to be logged: what of a stream and a cause was not yet, and is due. */
static bool take_unlogged(struct losses *losses, enum iotr_stream stream, enum loss_cause cause, uint64_t now, bool last,
			  struct entry *ret)
{
	struct entry *unlogged = &losses->unlogged[stream][cause];
	uint64_t *quiet = &losses->quiet_until_ns[stream][cause];
	bool due;

	pthread_mutex_lock(&losses->lock);
	due = unlogged->rows && (last || now >= *quiet);
	if (due) {
		*ret = *unlogged;
		*unlogged = (struct entry){ 0 };
		*quiet = now + LOSSES_LOG_EVERY_NS;
	}
	pthread_mutex_unlock(&losses->lock);
	return due;
}

static void log_entry(const struct losses *losses, enum iotr_stream stream, enum loss_cause cause,
		      const struct entry *entry)
{
	char from[CLOCKS_TEXT_MAX], to[CLOCKS_TEXT_MAX];

	time_of(from, entry->from_ns);
	time_of(to, entry->to_ns);
	log_message(ABOUT(ROWS_LOST, .session = losses->session, .stream = iotr_schemas[stream].flag,
			  .cause = loss_names[cause], .rows = entry->rows, .from = from, .to = to),
		    "session %s: %" PRIu64 " rows of %s were lost between %s and %s, cause: %s", losses->session,
		    entry->rows, iotr_schemas[stream].flag, from, to, loss_names[cause]);
}

void losses_log(struct losses *losses, uint64_t now, bool last)
{
	struct entry entry;

	for (enum iotr_stream stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		for (enum loss_cause cause = 0; cause < LOSS_CAUSES; cause++)
			if (take_unlogged(losses, stream, cause, now, last, &entry))
				log_entry(losses, stream, cause, &entry);
}

static struct json_object *describe(const struct entry *entry)
{
	struct json_object *object = json_object_new_object();
	char text[CLOCKS_TEXT_MAX];

	json_object_object_add(object, "stream", json_object_new_string(iotr_schemas[entry->stream].flag));
	json_object_object_add(object, "cause", json_object_new_string(loss_names[entry->cause]));
	json_object_object_add(object, "rows", json_object_new_uint64(entry->rows));
	json_object_object_add(object, "from", json_object_new_string(time_of(text, entry->from_ns)));
	json_object_object_add(object, "to", json_object_new_string(time_of(text, entry->to_ns)));
	json_object_object_add(object, "from_mono_ns", json_object_new_uint64(entry->from_ns));
	json_object_object_add(object, "to_mono_ns", json_object_new_uint64(entry->to_ns));
	if (entry->looks > 1)
		json_object_object_add(object, "looks", json_object_new_uint64(entry->looks));
	return object;
}

struct json_object *losses_describe(struct losses *losses, size_t most)
{
	struct json_object *array = json_object_new_array();

	pthread_mutex_lock(&losses->lock);
	if (most >= losses->count)
		losses->fresh = false;
	for (size_t i = most < losses->count ? losses->count - most : 0; i < losses->count; i++)
		json_object_array_add(array, describe(&losses->entries[i]));
	pthread_mutex_unlock(&losses->lock);
	return array;
}

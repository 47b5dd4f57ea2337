// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/tail.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cleanup.h"
#include "schema.h"
#include "session/file_sink.h"

enum { ROWS_MAX = 4096 };

struct live_row {
	enum iotr_stream stream;
	char *fields; /* the texts of its columns, each with a NUL behind it */
};

struct tail_hub {
	struct session_watcher watcher;
	struct session *session; /* NULL once it has ended */
	struct engine_tail *tails;
	sd_event_source *source;
	int signal; /* eventfd: there are rows in the list */
	pthread_mutex_t lock; /* protects the members below */
	struct live_row rows[ROWS_MAX];
	size_t count;
	uint64_t skipped;
};

struct engine_tail {
	struct engine_tail *next;
	struct tail_hub *hub;
	uint32_t streams;
	uint64_t skipped;
	engine_tail_handler handler;
	void *userdata;
	bool dead; /* freed inside its own handler, to be removed later */
};

/* Called on the writer thread. */
static void tap(enum iotr_stream stream, const char *fields, size_t size, void *userdata)
{
	struct tail_hub *hub = userdata;
	char *copy = NULL;

	pthread_mutex_lock(&hub->lock);
	if (hub->count < ROWS_MAX)
		copy = malloc(size);
	if (copy) {
		memcpy(copy, fields, size);
		hub->rows[hub->count++] = (struct live_row){ stream, copy };
		if (hub->count == 1)
			eventfd_write(hub->signal, 1);
	} else {
		hub->skipped++;
	}
	pthread_mutex_unlock(&hub->lock);
}

static struct json_object *row_describe(const struct live_row *live)
{
	const struct iotr_schema *schema = &iotr_schemas[live->stream];
	struct json_object *row = json_object_new_object(), *columns = json_object_new_object();
	const char *field = live->fields;

	json_object_object_add(row, "stream", json_object_new_string(schema->flag));
	for (size_t i = 0; i < schema->column_count; i++) {
		json_object_object_add(columns, schema->columns[i].name, json_object_new_string(field));
		field += strlen(field) + 1;
	}
	json_object_object_add(row, "columns", columns);
	return row;
}

static void tail_give(struct engine_tail *tail, enum iotr_stream stream, struct json_object *row)
{
	uint64_t skipped = tail->skipped;

	if (tail->dead || (tail->streams && !(tail->streams >> stream & 1)))
		return;
	tail->skipped = 0;
	tail->handler(json_object_get(row), skipped, tail->userdata);
}

/* Frees tails that were freed inside a handler, once no handler runs. */
static void tails_sweep(struct tail_hub *hub)
{
	struct engine_tail **at = &hub->tails, *tail;

	while ((tail = *at)) {
		if (tail->dead) {
			*at = tail->next;
			free(tail);
		} else {
			at = &tail->next;
		}
	}
}

static void hub_free(struct tail_hub *hub)
{
	if (hub->session) {
		writer_tap_set(file_sink_of(hub->session->sink)->writer, NULL, NULL);
		session_unwatch(hub->session, &hub->watcher);
		hub->session->hub = NULL;
	}
	sd_event_source_disable_unref(hub->source);
	for (size_t i = 0; i < hub->count; i++)
		free(hub->rows[i].fields);
	closep(&hub->signal);
	pthread_mutex_destroy(&hub->lock);
	free(hub);
}

static void hub_flush(struct tail_hub *hub)
{
	_cleanup_free_ struct live_row *rows = malloc(sizeof(hub->rows));
	size_t count = 0;
	uint64_t skipped;

	if (!rows)
		return;
	pthread_mutex_lock(&hub->lock);
	count = hub->count;
	skipped = hub->skipped;
	memcpy(rows, hub->rows, count * sizeof(*rows));
	hub->count = 0;
	hub->skipped = 0;
	pthread_mutex_unlock(&hub->lock);
	for (struct engine_tail *tail = hub->tails; tail; tail = tail->next)
		tail->skipped += skipped;
	for (size_t i = 0; i < count; i++) {
		_cleanup_json_ struct json_object *row = row_describe(&rows[i]);

		for (struct engine_tail *tail = hub->tails; tail; tail = tail->next)
			tail_give(tail, rows[i].stream, row);
		free(rows[i].fields);
	}
	tails_sweep(hub);
}

static int hub_ready(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct tail_hub *hub = userdata;
	eventfd_t value;

	(void)source;
	(void)events;
	eventfd_read(fd, &value);
	hub_flush(hub);
	if (!hub->tails)
		hub_free(hub);
	return 0;
}

/* The session has ended: reports its last rows and then the end. The tails exist until they are freed. */
static void hub_end(struct session_watcher *watcher)
{
	struct tail_hub *hub = (struct tail_hub *)((char *)watcher - offsetof(struct tail_hub, watcher));

	hub_flush(hub);
	hub->session->hub = NULL;
	hub->session = NULL;
	for (struct engine_tail *tail = hub->tails; tail; tail = tail->next)
		if (!tail->dead)
			tail->handler(NULL, tail->skipped, tail->userdata);
	eventfd_write(hub->signal, 1);
}

static int hub_new(struct session *session)
{
	struct tail_hub *hub = calloc(1, sizeof(*hub));
	int r;

	if (!hub)
		return -ENOMEM;
	pthread_mutex_init(&hub->lock, NULL);
	hub->signal = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = hub->signal < 0 ? -errno : 0;
	if (r >= 0)
		r = sd_event_add_io(session->context->event, &hub->source, hub->signal, EPOLLIN, hub_ready, hub);
	if (r < 0) {
		hub_free(hub);
		return r;
	}
	hub->session = session;
	session->hub = hub;
	hub->watcher.ended = hub_end;
	session_watch(session, &hub->watcher);
	writer_tap_set(file_sink_of(session->sink)->writer, tap, hub);
	return 0;
}

int tail_new(struct session *session, uint32_t stream_mask, engine_tail_handler handler, void *userdata,
	     struct engine_tail **ret)
{
	struct engine_tail *tail;
	int r = 0;

	if (!file_sink_of(session->sink))
		return -EOPNOTSUPP;
	if (!session->hub)
		r = hub_new(session);
	if (r < 0)
		return r;
	tail = calloc(1, sizeof(*tail));
	if (!tail)
		return -ENOMEM;
	*tail = (struct engine_tail){ .next = session->hub->tails, .hub = session->hub,
				      .streams = stream_mask, .handler = handler,
				      .userdata = userdata };
	session->hub->tails = tail;
	*ret = tail;
	return 0;
}

/* The memory is freed at the next turn of the loop, as the call may come from inside the handler. */
void tail_free(struct engine_tail *tail)
{
	if (!tail)
		return;
	tail->dead = true;
	eventfd_write(tail->hub->signal, 1);
}

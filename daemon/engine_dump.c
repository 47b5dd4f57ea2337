// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dumps of flight recorders. The main thread takes a view of the memory and makes the folder; a
 * thread of low priority hands the rows to a writer, which makes files of them as it does of a
 * session's, and tells the main loop when all is done.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cleanup.h"
#include "definition.h"
#include "engine_internal.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "pipeline/thread.h"
#include "schema.h"

#define QUEUE_BYTES  (1024 * 1024)
#define PAUSE_US     1000 /* until a full queue is looked at again */
#define NICE	     10	  /* of the threads of a dump: it goes on where the machine is busy */

struct engine_dump {
	struct engine_dump *next;
	struct engine *engine;
	struct session *session; /* NULL once it has ended */
	engine_dump_handler handler; /* NULL: nobody waits */
	void *userdata;
	sd_event_source *source;
	int done; /* eventfd: the thread has ended */
	pthread_t thread;
	bool started;
	_Atomic bool hurry; /* what finds no room is lost */
	char name[IOTR_SESSION_NAME_MAX + 1];
	char output[PATH_MAX];
	uint64_t last_ns;
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
	bool whole;		 /* nothing that was asked for had been overwritten */
	struct recorder_view *view;
	struct writer_config config;
	uint8_t anonymize_key[IOTR_ANONYMIZE_KEY_SIZE]; /* a copy: the session may end meanwhile */
	int folder;
	/* The thread's; the main thread reads them when it has ended. */
	uint64_t rows[IOTR_STREAM_COUNT];
	struct writer_counts counts[IOTR_STREAM_COUNT];
	int error;
};

/* ---- the thread ---- */

static void feed(struct engine_dump *dump, struct writer *writer)
{
	struct row row;

	while (recorder_view_next(dump->view, &row)) {
		while (!writer_queue_has_room(writer) && !atomic_load(&dump->hurry)) {
			writer_queue_wake(writer);
			usleep(PAUSE_US);
		}
		writer_queue_row(writer, &row);
		dump->rows[row.record->stream]++;
	}
	writer_queue_wake(writer);
}

static void finish(struct engine_dump *dump, struct writer *writer)
{
	const char *reason = atomic_load(&dump->hurry) ? "shutdown" : "dump";

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		writer_report(writer, stream,
			      &(struct writer_probes){ .emitted = dump->rows[stream] });
	dump->error = writer_stop(writer, reason, NULL);
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		writer_counts(writer, stream, &dump->counts[stream]);
}

/* The writer's thread, begun here, takes over the low priority. */
static void *dump_run(void *userdata)
{
	struct engine_dump *dump = userdata;
	struct writer *writer = NULL;

	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	dump->error = writer_new(&dump->config, &writer);
	if (!dump->error) {
		feed(dump, writer);
		finish(dump, writer);
	}
	writer_free(writer);
	eventfd_write(dump->done, 1);
	return NULL;
}

/* ---- the result ---- */

/* Which rows they are: for the answer, and for the manifest. */
static void add_span(struct json_object *object, const struct engine_dump *dump)
{
	if (dump->last_ns)
		add_u64(object, "last_ns", dump->last_ns);
	add_mono_time(object, "from", dump->from_ns);
	add_mono_time(object, "to", dump->to_ns);
	add_u64(object, "from_mono_ns", dump->from_ns);
	add_u64(object, "to_mono_ns", dump->to_ns);
	add_flag(object, "whole", dump->whole);
}

static struct json_object *stream_result(const struct engine_dump *dump, enum iotr_stream stream)
{
	const struct writer_counts *counts = &dump->counts[stream];
	struct json_object *object = json_object_new_object();

	add_u64(object, "emitted", dump->rows[stream]);
	add_u64(object, "written", counts->written);
	add_lost(object, &(struct probes_loss){ 0 }, counts->lost_queue, counts->lost_disk);
	add_u64(object, "bytes", counts->bytes);
	add_u64(object, "segments", counts->segments);
	return object;
}

static struct json_object *result(const struct engine_dump *dump)
{
	struct json_object *object = json_object_new_object(), *streams = json_object_new_object();

	add_string(object, "name", dump->name);
	add_string(object, "output", dump->output);
	add_span(object, dump);
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (dump->config.streams >> stream & 1)
			json_object_object_add(streams, iotr_schemas[stream].flag,
					       stream_result(dump, stream));
	json_object_object_add(object, "streams", streams);
	return object;
}

/* ---- the main thread ---- */

static void dump_free(struct engine_dump *dump)
{
	struct engine_dump **at = &dump->engine->dumps;

	if (dump->started)
		pthread_join(dump->thread, NULL);
	while (*at && *at != dump)
		at = &(*at)->next;
	if (*at)
		*at = dump->next;
	if (dump->session)
		dump->session->dump = NULL;
	sd_event_source_disable_unref(dump->source);
	recorder_view_free(dump->view);
	json_object_put(dump->config.definition);
	json_object_put(dump->config.hooks);
	closep(&dump->folder);
	closep(&dump->done);
	explicit_bzero(dump->anonymize_key, sizeof(dump->anonymize_key));
	free(dump);
}

static int dump_done(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct engine_dump *dump = userdata;
	char message[PATH_MAX + 128];

	(void)source;
	(void)fd;
	(void)events;
	pthread_join(dump->thread, NULL);
	dump->started = false;
	snprintf(message, sizeof(message), "cannot write in %s: %s", dump->output,
		 strerror(-dump->error));
	if (dump->error)
		log_error("dump of session %s: %s", dump->name, message);
	else
		log_info("session %s dumped into %s", dump->name, dump->output);
	if (dump->handler)
		dump->handler(dump->error ? NULL : result(dump), message, dump->userdata);
	dump_free(dump);
	return 0;
}

/* The frame of its manifest: the session's, with the span, and what the session counts by now. */
static void describe(struct engine_dump *dump)
{
	struct session *session = dump->session;
	struct json_object *span = json_object_new_object(), *counts = json_object_new_object();

	add_span(span, dump);
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (session->spec.streams >> stream & 1)
			json_object_object_add(counts, iotr_schemas[stream].flag,
					       recorder_stream_status(session, stream));
	json_object_object_add(span, "session", counts);
	dump->config.definition = definition_describe(&session->spec);
	json_object_object_add(dump->config.definition, "dump", span);
	dump->config.hooks = hooks_describe(dump->engine, session->spec.streams);
	dump->config.output = dump->output;
	dump->config.output_fd = dump->folder;
	dump->config.streams = session->spec.streams;
	dump->config.queue_size = QUEUE_BYTES;
	dump->config.format = session->spec.format;
	dump->config.session = dump->name;
	dump->config.level = level_name(probes_level(dump->engine->probes));
	dump->config.owner_uid = session->owner_uid;
	if (!session->anonymizer)
		return;
	memcpy(dump->anonymize_key, session->anonymize_key, sizeof(dump->anonymize_key));
	dump->config.anonymize_key = dump->anonymize_key;
}

/* What ended before this call is in the memory by the time that the view is taken. */
static int take_view(struct engine_dump *dump)
{
	struct recorder_memory memory;
	uint64_t now = clocks_mono_ns(), since;
	int r;

	consumer_drain(dump->engine->consumer);
	since = dump->last_ns && dump->last_ns < now ? now - dump->last_ns : 0;
	r = recorder_view_new(dump->session->recorder, since, &dump->view);
	dump->to_ns = clocks_mono_ns();
	recorder_memory(dump->session->recorder, &memory);
	dump->whole = !memory.overwritten || memory.reaches_ns <= since;
	dump->from_ns = since > memory.reaches_ns ? since : memory.reaches_ns;
	return r;
}

static int open_folder(struct engine_dump *dump, const char *output, struct engine_error *error)
{
	if (*output) {
		snprintf(dump->output, sizeof(dump->output), "%s", output);
		dump->folder = output_create(dump->output, error->message, sizeof(error->message));
	} else {
		dump->folder = output_create_default(dump->engine->config.log_dir, dump->name,
						     time(NULL), dump->output, error->message,
						     sizeof(error->message));
	}
	return dump->folder < 0 ? engine_fail(error, dump->folder, "output", NULL) : 0;
}

static int start_thread(struct engine_dump *dump)
{
	int r;

	dump->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (dump->done < 0)
		return -errno;
	r = sd_event_add_io(dump->engine->event, &dump->source, dump->done, EPOLLIN, dump_done, dump);
	if (r < 0)
		return r;
	r = thread_start(&dump->thread, dump_run, dump);
	dump->started = !r;
	return r;
}

/* Its files count as those of a session, and are compressed and removed like them. */
static int open_trace(struct engine_dump *dump)
{
	const struct trace_config config = {
		.folder_fd = dump->folder,
		.path = dump->output,
		.streams = dump->config.streams,
		.compress = dump->session->spec.compress,
	};

	return storage_add(dump->engine->storage, &config, &dump->config.trace);
}

static int dump_start(struct engine_dump *dump, const char *output, struct engine_error *error)
{
	int r = take_view(dump);

	if (r < 0)
		return engine_fail(error, r, "", "out of memory");
	r = open_folder(dump, output, error);
	if (r < 0)
		return r;
	describe(dump);
	r = open_trace(dump);
	if (r < 0)
		return engine_fail(error, r, "", "out of memory");
	r = start_thread(dump);
	if (r < 0)
		trace_free(dump->config.trace);
	return r < 0 ? engine_fail(error, r, "", "cannot start a thread for the dump") : 0;
}

int engine_dump_new(struct engine *engine, const char *name, uint64_t last_ns, const char *output,
		    engine_dump_handler handler, void *userdata, struct engine_dump **ret,
		    struct engine_error *error)
{
	struct session *session = engine_find(engine, name);
	struct engine_dump *dump;
	int r;

	if (!session || !session_runs(session)) /* one that ends is freed without asking its dumps */
		return -ENOENT;
	if (!session->recorder)
		return -EOPNOTSUPP;
	if (session->dump)
		return -EBUSY;
	dump = calloc(1, sizeof(*dump));
	if (!dump)
		return -ENOMEM;
	*dump = (struct engine_dump){ .next = engine->dumps, .engine = engine, .session = session,
				      .handler = handler, .userdata = userdata, .done = -1,
				      .last_ns = last_ns, .folder = -1 };
	snprintf(dump->name, sizeof(dump->name), "%s", name);
	engine->dumps = dump;
	session->dump = dump;
	r = dump_start(dump, output, error);
	if (r < 0)
		dump_free(dump);
	else
		*ret = dump;
	return r;
}

void engine_dump_forget(struct engine_dump *dump)
{
	dump->handler = NULL;
}

void dump_detach(struct session *session)
{
	if (session->dump)
		session->dump->session = NULL;
	session->dump = NULL;
}

void dumps_end(struct engine *engine)
{
	for (struct engine_dump *dump = engine->dumps; dump; dump = dump->next)
		atomic_store(&dump->hurry, true);
	while (engine->dumps)
		dump_free(engine->dumps);
}

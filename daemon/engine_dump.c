// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dumps of flight recorders. The main thread takes a view of the memory; a thread of low priority makes the
 * folder, passes the rows to a writer, which writes them to files as it does for a session, and notifies the
 * main loop at the end.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cleanup.h"
#include "engine_internal.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "schema.h"
#include "spec/definition.h"
#include "thread.h"

#define QUEUE_BYTES  (1024 * 1024)
#define ENDS_NS	     10000000000ULL /* time that the daemon's end gives to the dumps */
#define PAUSE_US     1000 /* until a full queue is tried again */
#define NICE	     10	  /* of the threads of a dump: other work of the machine comes first */

struct engine_dump {
	struct engine_dump *next;
	struct engine *engine;
	struct session *session; /* NULL once it has ended */
	engine_dump_handler handler; /* NULL: nobody waits for the result */
	void *userdata;
	sd_event_source *source;
	int done; /* eventfd: written when the thread ends */
	pthread_t thread;
	bool started;
	_Atomic bool hurry; /* do not wait for room in the queue any more: rows that find none are lost */
	char name[IOTR_SESSION_NAME_MAX + 1];
	char named[PATH_MAX]; /* the folder that was asked for, or "" */
	struct rights rights; /* with which the folder and its files are written */
	uint64_t last_ns;
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
	bool whole;		 /* no row of the requested span had been overwritten */
	struct recorder_view *view;
	struct json_object *missing; /* operations that its session cannot record; NULL: none */
	struct writer_config config;
	uint8_t anonymize_key[IOTR_ANONYMIZE_KEY_SIZE]; /* a copy: the session may end meanwhile */
	char *log_dir;
	struct storage *storage;
	bool compress;
	/* These belong to the thread; the main thread reads them after it has ended. */
	char output[PATH_MAX];
	int folder;
	uint64_t rows[IOTR_STREAM_COUNT];
	struct writer_counts counts[IOTR_STREAM_COUNT];
	int result;
	struct engine_error error;
};

/* ---- the thread: it may outlive the daemon's engine, so it shares nothing with it but the storage ---- */

static int open_folder(struct engine_dump *dump)
{
	struct engine_error *error = &dump->error;
	const struct rights *own = rights_use(&dump->rights);

	if (*dump->named) {
		memcpy(dump->output, dump->named, sizeof(dump->output));
		dump->folder = output_create(dump->output, NULL, error->message, sizeof(error->message));
	} else {
		dump->folder = output_create_default(dump->log_dir, dump->name, time(NULL), dump->output, NULL,
						     error->message, sizeof(error->message));
	}
	rights_use(own);
	return dump->folder < 0 ? engine_fail(error, dump->folder, "output", NULL) : 0;
}

/* Retention treats its files like those of a session: they are counted, compressed and removed. */
static int open_trace(struct engine_dump *dump)
{
	const struct trace_config config = {
		.folder_fd = dump->folder,
		.path = dump->output,
		.rights = &dump->rights,
		.streams = dump->config.streams,
		.compress = dump->compress,
	};
	int r = storage_add(dump->storage, &config, &dump->config.trace);

	return r < 0 ? engine_fail(&dump->error, r, "", "out of memory") : 0;
}

static int fail_to_write(struct engine_dump *dump, int r)
{
	snprintf(dump->error.message, sizeof(dump->error.message), "cannot write in %.300s: %s", dump->output,
		 strerror(-r));
	return r;
}

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

static int finish(struct engine_dump *dump, struct writer *writer)
{
	const char *reason = atomic_load(&dump->hurry) ? "shutdown" : "dump";
	int r;

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		writer_report(writer, stream,
			      &(struct writer_probes){ .emitted = dump->rows[stream] });
	r = writer_stop(writer, reason, NULL);
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		writer_counts(writer, stream, &dump->counts[stream]);
	return r;
}

static int write_rows(struct engine_dump *dump)
{
	struct writer *writer = NULL;
	int r;

	dump->config.output_fd = dump->folder;
	r = writer_new(&dump->config, &writer);
	if (r < 0)
		return r;
	if (dump->missing)
		writer_missing(writer, dump->missing);
	feed(dump, writer);
	r = finish(dump, writer);
	writer_free(writer);
	return r;
}

/* The writer's thread is created here and so inherits the low priority. */
static void *dump_run(void *userdata)
{
	struct engine_dump *dump = userdata;
	int r;

	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	dump->result = open_folder(dump);
	if (dump->result >= 0)
		dump->result = open_trace(dump);
	if (dump->result >= 0) {
		r = write_rows(dump);
		dump->result = r < 0 ? fail_to_write(dump, r) : 0;
	}
	eventfd_write(dump->done, 1);
	return NULL;
}

/* ---- the result ---- */

/* Adds the time span of the rows: for the reply, and for the manifest. */
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
	add_lost(object, &(struct probes_loss){ 0 }, counts->lost_queue, counts->lost_disk, counts->lost_names);
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
	json_object_put(dump->missing);
	json_object_put(dump->config.definition);
	json_object_put(dump->config.hooks);
	closep(&dump->folder);
	closep(&dump->done);
	explicit_bzero(dump->anonymize_key, sizeof(dump->anonymize_key));
	free(dump->log_dir);
	free(dump);
}

static int dump_done(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct engine_dump *dump = userdata;

	(void)source;
	(void)fd;
	(void)events;
	pthread_join(dump->thread, NULL);
	dump->started = false;
	if (dump->result < 0)
		log_error("dump of session %s: %s", dump->name, dump->error.message);
	else
		log_info("session %s dumped into %s", dump->name, dump->output);
	if (dump->handler)
		dump->handler(dump->result < 0 ? NULL : result(dump), &dump->error, dump->userdata);
	dump_free(dump);
	return 0;
}

/*
 * Prepares the frame of the dump's manifest: the session's, with the span and with the session's counts so
 * far.
 */
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
	json_object_object_add(span, "losses", session_losses(session, LOSSES_MAX));
	dump->config.definition = definition_describe(&session->spec);
	json_object_object_add(dump->config.definition, "dump", span);
	/* The thread gets its own copy, as JSON reference counts are not atomic. */
	if (json_object_array_length(session->missing))
		json_object_deep_copy(session->missing, &dump->missing, NULL);
	dump->config.hooks = hooks_describe(dump->engine, session->spec.streams);
	dump->config.output = dump->output;
	dump->config.streams = session->spec.streams;
	dump->config.queue_size = QUEUE_BYTES;
	dump->config.format = session->spec.format;
	dump->config.session = dump->name;
	dump->config.level = level_name(probes_level(dump->engine->probes));
	dump->config.owner_uid = session->owner.uid;
	dump->config.rights = &dump->rights;
	if (!session->anonymizer)
		return;
	memcpy(dump->anonymize_key, session->anonymize_key, sizeof(dump->anonymize_key));
	dump->config.anonymize_key = dump->anonymize_key;
}

/* Drains the rings first, so that rows of all operations that ended before this call are in the memory. */
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

static int dump_start(struct engine_dump *dump, struct engine_error *error)
{
	int r = dump->log_dir ? take_view(dump) : -ENOMEM;

	if (r < 0)
		return engine_fail(error, r, "", "out of memory");
	describe(dump);
	r = start_thread(dump);
	return r < 0 ? engine_fail(error, r, "", "cannot start a thread for the dump") : 0;
}

int engine_dump_new(struct engine *engine, const char *name, uint64_t last_ns, const char *output,
		    const struct rights *caller, engine_dump_handler handler, void *userdata, struct engine_dump **ret,
		    struct engine_error *error)
{
	struct session *session = engine_find(engine, name);
	struct engine_dump *dump;
	int r;

	if (!session || !session_runs(session)) /* a session that ends is freed without regard to a dump of it */
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
				      .last_ns = last_ns, .folder = -1, .storage = engine->storage,
				      .compress = session->spec.compress };
	dump->log_dir = strdup(engine->config.log_dir);
	snprintf(dump->name, sizeof(dump->name), "%s", name);
	snprintf(dump->named, sizeof(dump->named), "%s", output);
	dump->rights = *output ? *caller : engine->log_rights;
	engine->dumps = dump;
	session->dump = dump;
	r = dump_start(dump, error);
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

static bool dump_ends(const struct engine_dump *dump, uint64_t until_ns)
{
	struct pollfd done = { .fd = dump->done, .events = POLLIN };
	uint64_t now = clocks_mono_ns();

	return !dump->started || poll(&done, 1, now < until_ns ? (int)((until_ns - now) / 1000000) : 0) > 0;
}

/* Everything that the dump has is left to its thread. */
static void dump_leave_behind(struct engine_dump *dump)
{
	log_error("dump of session %s: its disk does not answer, and the daemon ends without it", dump->name);
	dump->engine->hung = dump->engine->abandoned = true;
	dump->engine->dumps = dump->next;
	if (dump->session)
		dump->session->dump = NULL;
	sd_event_source_disable_unref(dump->source);
	pthread_detach(dump->thread);
}

void dumps_end(struct engine *engine)
{
	uint64_t until_ns = clocks_mono_ns() + ENDS_NS;

	for (struct engine_dump *dump = engine->dumps; dump; dump = dump->next)
		atomic_store(&dump->hurry, true);
	while (engine->dumps)
		if (dump_ends(engine->dumps, until_ns))
			dump_free(engine->dumps);
		else
			dump_leave_behind(engine->dumps);
}

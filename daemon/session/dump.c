// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/dump.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cleanup.h"
#include "errand.h"
#include "json_add.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "schema.h"
#include "session/describe.h"
#include "session/groups_tell.h"
#include "pipeline/folder.h"
#include "session/json_time.h"
#include "session/memory_sink.h"
#include "session/missing.h"
#include "spec/definition.h"

#define QUEUE_BYTES (1024 * 1024)
#define ENDS_NS	    10000000000ULL /* time that the daemon's end gives to the dumps */
#define PAUSE_US    1000 /* until a full queue is tried again */
#define NICE	    10	 /* of the threads of a dump: other work of the machine comes first */

struct engine_dump {
	struct errand errand;
	struct session_watcher watcher;
	struct engine_dump *next;
	struct engine_dump **all; /* the list that it is in */
	struct session *session; /* NULL once it has ended */
	engine_dump_handler handler; /* NULL: nobody waits for the result */
	void *userdata;
	_Atomic bool hurry; /* do not wait for room in the queue any more: rows that find none are lost */
	char name[IOTR_SESSION_NAME_MAX + 1];
	char named[PATH_MAX]; /* the folder that was asked for, or "" */
	struct rights rights; /* with which the folder and its files are written */
	uint64_t last_ns;
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
	bool whole;		 /* no row of the requested span had been overwritten */
	struct recorder_view *view;
	struct cgroup_list *cgroups; /* that its rows may name; NULL: none are known */
	struct json_object *missing; /* operations that its session cannot record; NULL: none */
	struct writer_config config;
	uint8_t anonymize_key[IOTR_ANONYMIZE_KEY_SIZE]; /* a copy: the session may end meanwhile */
	char *log_dir;
	struct storage *storage;
	bool compress;
	/* Results of the thread. */
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
	const struct folder_request request = { .named = dump->named, .log_dir = dump->log_dir, .name = dump->name,
						.time = time(NULL), .rights = &dump->rights };

	dump->folder = folder_open(&request, dump->output, &dump->error);
	return dump->folder < 0 ? dump->folder : 0;
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

	return folder_trace(dump->storage, &config, &dump->config.trace, &dump->error);
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
		writer_tell(writer, "missing", dump->missing);
	feed(dump, writer);
	if (dump->cgroups)
		writer_cgroups(writer, TAKE(dump->cgroups), true, NULL, NULL);
	r = finish(dump, writer);
	writer_free(writer);
	return r;
}

static struct engine_dump *dump_of(struct errand *errand)
{
	return (struct engine_dump *)((char *)errand - offsetof(struct engine_dump, errand));
}

/* The writer's thread is created here and so inherits the low priority. */
static void dump_work(struct errand *errand)
{
	struct engine_dump *dump = dump_of(errand);
	int r;

	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	dump->result = open_folder(dump);
	if (dump->result >= 0)
		dump->result = open_trace(dump);
	if (dump->result < 0)
		return;
	r = write_rows(dump);
	dump->result = r < 0 ? fail_to_write(dump, r) : 0;
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
	const uint64_t lost[LOSS_CAUSES] = { [LOSS_QUEUE] = counts->lost_queue, [LOSS_DISK] = counts->lost_disk };
	struct json_object *object = json_object_new_object();

	add_u64(object, "emitted", dump->rows[stream]);
	add_u64(object, "written", counts->written);
	describe_lost(object, lost, counts->lost_names);
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

static struct memory_sink *memory_of(const struct engine_dump *dump)
{
	return memory_sink_of(dump->session->sink);
}

/* Any thread, once nothing of the main thread refers to the dump. */
static void dump_free(struct engine_dump *dump)
{
	recorder_view_free(dump->view);
	cgroup_list_free(dump->cgroups);
	json_object_put(dump->missing);
	json_object_put(dump->config.definition);
	json_object_put(dump->config.hooks);
	closep(&dump->folder);
	explicit_bzero(dump->anonymize_key, sizeof(dump->anonymize_key));
	free(dump->log_dir);
	free(dump);
}

static void dump_drop(struct errand *errand)
{
	dump_free(dump_of(errand));
}

/* Takes it out of the list, and lets go of its session. */
static void dump_detach(struct engine_dump *dump)
{
	struct engine_dump **at = dump->all;

	while (*at != dump)
		at = &(*at)->next;
	*at = dump->next;
	if (!dump->session)
		return;
	session_unwatch(dump->session, &dump->watcher);
	memory_of(dump)->dumping = false;
	dump->session = NULL;
}

static void on_session_ended(struct session_watcher *watcher)
{
	struct engine_dump *dump =
		(struct engine_dump *)((char *)watcher - offsetof(struct engine_dump, watcher));

	dump->session = NULL;
}

static void dump_done(struct errand *errand)
{
	struct engine_dump *dump = dump_of(errand);

	dump_detach(dump);
	if (dump->result < 0)
		log_message(ABOUT(DUMP_FAILED, .session = dump->name, .error = -dump->result),
			    "dump of session %s failed: %s", dump->name, dump->error.message);
	else
		log_message(ABOUT(DUMPED, .session = dump->name, .output = dump->output),
			    "session %s dumped into %s", dump->name, dump->output);
	if (dump->handler)
		dump->handler(dump->result < 0 ? NULL : result(dump), &dump->error, dump->userdata);
	dump_free(dump);
}

/*
 * Prepares the frame of the dump's manifest: the session's, with the span and with the session's counts so
 * far.
 */
static void describe(struct engine_dump *dump)
{
	const struct session *session = dump->session;
	const struct probes *probes = session->context->probes;
	struct json_object *span = json_object_new_object();

	add_span(span, dump);
	json_object_object_add(span, "session", describe_streams(session));
	if (session->spec.trigger_count)
		json_object_object_add(span, "triggers", describe_triggers(session));
	json_object_object_add(span, "losses", session->sink->ops->losses(session->sink, LOSSES_MAX));
	dump->config.definition = definition_describe(&session->spec);
	json_object_object_add(dump->config.definition, "dump", span);
	/* The thread gets its own copy, as JSON reference counts are not atomic. */
	if (json_object_array_length(session->missing))
		json_object_deep_copy(session->missing, &dump->missing, NULL);
	dump->config.hooks = missing_hooks(probes, session->spec.streams);
	dump->config.output = dump->output;
	dump->config.streams = session->spec.streams;
	dump->config.queue_size = QUEUE_BYTES;
	dump->config.format = session->spec.format;
	dump->config.session = dump->name;
	dump->config.level = probes_level_name(probes_level(probes));
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
	struct recorder *recorder = memory_of(dump)->recorder;
	struct recorder_memory memory;
	uint64_t now = clocks_mono_ns(), since;
	int r;

	consumer_drain(dump->session->context->consumer);
	since = dump->last_ns && dump->last_ns < now ? now - dump->last_ns : 0;
	r = recorder_view_new(recorder, since, &dump->view);
	dump->to_ns = clocks_mono_ns();
	recorder_memory(recorder, &memory);
	dump->whole = !memory.overwritten || memory.reaches_ns <= since;
	dump->from_ns = since > memory.reaches_ns ? since : memory.reaches_ns;
	dump->cgroups = groups_tell_list(dump->session, dump->from_ns);
	return r;
}

static int dump_start(struct engine_dump *dump, struct engine_error *error)
{
	int r = dump->log_dir ? take_view(dump) : -ENOMEM;

	if (r < 0)
		return engine_fail(error, r, "", "out of memory");
	describe(dump);
	r = errand_begin(&dump->session->context->errands, &dump->errand);
	return r < 0 ? engine_fail(error, r, "", "cannot start a thread for the dump") : 0;
}

/* Its number is bounded by that of the sessions, each of which has one at most. */
static void dump_init(struct engine_dump *dump, struct session *session, const char *output,
		      const struct rights *caller)
{
	const struct session_context *context = session->context;

	dump->errand = (struct errand){ .work = dump_work, .done = dump_done, .drop = dump_drop, .unbounded = true };
	dump->watcher.ended = on_session_ended;
	dump->session = session;
	dump->folder = -1;
	dump->storage = context->storage;
	dump->compress = session->spec.compress;
	dump->log_dir = strdup(context->config.log_dir);
	dump->rights = *output ? *caller : context->log_rights;
	snprintf(dump->name, sizeof(dump->name), "%s", session->spec.name);
	snprintf(dump->named, sizeof(dump->named), "%s", output);
}

int dump_new(struct session *session, struct engine_dump **all, uint64_t last_ns, const char *output,
	     const struct rights *caller, engine_dump_handler handler, void *userdata, struct engine_dump **ret,
	     struct engine_error *error)
{
	struct memory_sink *sink = memory_sink_of(session->sink);
	struct engine_dump *dump;
	int r;

	if (!sink)
		return -EOPNOTSUPP;
	if (sink->dumping)
		return -EBUSY;
	dump = calloc(1, sizeof(*dump));
	if (!dump)
		return -ENOMEM;
	dump_init(dump, session, output, caller);
	dump->handler = handler;
	dump->userdata = userdata;
	dump->last_ns = last_ns;
	dump->all = all;
	dump->next = *all;
	*all = dump;
	sink->dumping = true;
	session_watch(session, &dump->watcher);
	r = dump_start(dump, error);
	if (r >= 0) {
		*ret = dump;
		return 0;
	}
	dump_detach(dump);
	dump_free(dump);
	return r;
}

void dump_forget(struct engine_dump *dump)
{
	dump->handler = NULL;
}

/* Everything that the dump has is left to its thread. */
static void leave_behind(struct engine_dump *dump)
{
	log_message(ABOUT(LEFT_BEHIND, .session = dump->name),
		    "dump of session %s: its disk does not answer, and the daemon ends without waiting for it",
		    dump->name);
	dump_detach(dump);
	errand_abandon(&dump->errand);
}

bool dumps_end(struct engine_dump **all, struct errands *errands)
{
	uint64_t until_ns = clocks_mono_ns() + ENDS_NS;
	bool ended = true;

	for (struct engine_dump *dump = *all; dump; dump = dump->next)
		atomic_store(&dump->hurry, true);
	while (*all) {
		if (errand_wait(&(*all)->errand, until_ns)) {
			errands_see_to(errands);
			continue;
		}
		leave_behind(*all);
		ended = false;
	}
	return ended;
}

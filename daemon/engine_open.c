// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine_open.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "definition.h"
#include "engine_resume.h"
#include "pipeline/clocks.h"
#include "pipeline/thread.h"

enum state { OPENING, DONE, ABANDONED };

/* The thread shares nothing with the session, which may be gone when the disk answers. */
struct opening {
	_Atomic int state;
	_Atomic bool cancelled;
	pthread_t thread;
	int notice;
	struct storage *storage;
	char *log_dir, *state_dir;
	char named[PATH_MAX];  /* the folder that was asked for, or "" */
	struct running_note before; /* of the session that it goes on from; its output may be "" */
	bool limited;		    /* all traces together */
	time_t started;
	bool anonymize;
	bool in_memory; /* a flight recorder */
	struct running_note note;
	struct trace_config trace_config;
	struct writer_config config; /* owns its objects */
	/* What is open by now. */
	uint8_t anonymize_key[IOTR_ANONYMIZE_KEY_SIZE];
	char output[PATH_MAX];
	int folder;
	struct trace *trace;
	struct writer *writer;
	int result;
	struct recover_extent extent; /* of sessions before, where limits count it */
	struct engine_error error;
};

static void opening_free(struct opening *opening)
{
	free(opening->log_dir);
	free(opening->state_dir);
	running_note_done(&opening->note);
	running_note_done(&opening->before);
	json_object_put(opening->config.definition);
	json_object_put(opening->config.hooks);
	closep(&opening->folder);
	explicit_bzero(opening->anonymize_key, sizeof(opening->anonymize_key));
	free(opening);
}

DEFINE_CLEANUP(struct opening *, opening_free);

/* ---- the thread ---- */

/* A folder that the user named must still be the one it was: a disk may not be mounted. */
static bool is_there(const struct opening *opening)
{
	struct stat status;

	return !lstat(opening->before.output, &status) && S_ISDIR(status.st_mode) &&
	       status.st_ino == opening->before.inode;
}

/* Below a folder that was named, which has files by now; else where every session begins. */
static int folder_again(struct opening *opening)
{
	struct engine_error *error = &opening->error;
	char parent[PATH_MAX];
	char *slash;

	if (!is_there(opening))
		return engine_fail(error, -ENOENT, "", "its output folder is not there");
	strcpy(parent, opening->named);
	while ((slash = strrchr(parent, '/')) && !slash[1])
		*slash = '\0';
	if (!slash)
		return -EINVAL;
	*slash = '\0';
	return output_create_default(parent, slash + 1, opening->started, opening->output,
				     error->message, sizeof(error->message));
}

static int make_folder(struct opening *opening)
{
	struct engine_error *error = &opening->error;

	if (opening->named[0] && opening->before.output[0])
		return folder_again(opening);
	if (!opening->named[0])
		return output_create_default(opening->log_dir, opening->note.name, opening->started,
					     opening->output, error->message,
					     sizeof(error->message));
	memcpy(opening->output, opening->named, sizeof(opening->output));
	return output_create(opening->output, error->message, sizeof(error->message));
}

/* A disk that held this up may have let it be cancelled meanwhile. */
static int open_folder(struct opening *opening)
{
	opening->folder = make_folder(opening);
	if (opening->folder < 0)
		return engine_fail(&opening->error, opening->folder, "output", NULL);
	opening->config.own_folder = strcmp(opening->output, opening->named) != 0;
	return atomic_load(&opening->cancelled) ? -ECANCELED : 0;
}

static int open_trace(struct opening *opening)
{
	int r;

	opening->trace_config.folder_fd = opening->folder;
	r = storage_add(opening->storage, &opening->trace_config, &opening->trace);
	return r < 0 ? engine_fail(&opening->error, r, "", "out of memory") : 0;
}

/* What a session is to last counts from its first row on, which comes about now. */
static void write_note(struct opening *opening)
{
	struct running_note *note = &opening->note;

	if (note->ends_ns)
		note->ends_ns += clocks_realtime_ns() - note->started_ns;
	session_note(opening->state_dir, note, opening->folder);
}

static int open_writer(struct opening *opening)
{
	struct engine_error *error = &opening->error;
	int r;

	opening->config.output_fd = opening->folder;
	opening->config.trace = opening->trace;
	opening->config.anonymize_key = opening->anonymize ? opening->anonymize_key : NULL;
	write_note(opening);
	r = writer_new(&opening->config, &opening->writer);
	if (r >= 0)
		return 0;
	opening->trace = NULL; /* went with the writer */
	running_remove(opening->state_dir, opening->note.id);
	snprintf(error->message, sizeof(error->message), "cannot write in %.300s: %s",
		 opening->output, strerror(-r));
	return engine_fail(error, r, "output", NULL);
}

static int open_files(struct opening *opening)
{
	int r = open_folder(opening);

	if (r >= 0)
		r = open_trace(opening);
	if (r >= 0)
		return open_writer(opening);
	if (opening->config.own_folder)
		rmdir(opening->output);
	return r;
}

/* ---- limits: they are of all the sessions that one goes on from, together ---- */

/* False: nothing is left. */
static bool lessen(uint64_t *limit, uint64_t used)
{
	if (*limit && used >= *limit)
		return false;
	*limit -= *limit ? used : 0;
	return true;
}

static void tell_before(struct opening *opening)
{
	struct json_object *before = json_object_new_object();

	add_u64(before, "rows", opening->extent.rows);
	add_u64(before, "bytes", opening->extent.bytes);
	json_object_object_add(opening->config.definition, "before", before);
}

/* Where nobody can tell what there was, the limits begin anew. */
static int take_off(struct opening *opening)
{
	struct engine_error *error = &opening->error;
	struct writer_config *config = &opening->config;
	int r;

	if (!opening->before.output[0] || !(config->max_size || config->max_events))
		return 0;
	r = session_set_right(opening->state_dir, opening->limited, &opening->before,
			      &opening->cancelled, &opening->extent);
	if (r < 0)
		return r == -ECANCELED ? r : 0;
	tell_before(opening);
	if (!lessen(&config->max_events, opening->extent.rows))
		return engine_fail(error, -EDQUOT, "max_events", "it had reached its limit");
	if (!lessen(&config->max_size, opening->extent.bytes))
		return engine_fail(error, -EDQUOT, "max_size", "it had reached its limit");
	return 0;
}

/* ---- all of it ---- */

static int open_all(struct opening *opening)
{
	int r = 0;

	if (opening->anonymize)
		r = anonymize_key(opening->state_dir, opening->anonymize_key, &opening->error);
	if (r < 0 || opening->in_memory)
		return r;
	r = take_off(opening);
	return r < 0 ? r : open_files(opening);
}

/* Nobody takes it. */
static void discard(struct opening *opening)
{
	if (opening->writer) {
		writer_discard_begin(opening->writer, NULL, NULL);
		writer_free(opening->writer);
		running_remove(opening->state_dir, opening->note.id);
	}
	opening_free(opening);
}

static void *opening_run(void *userdata)
{
	struct opening *opening = userdata;
	int expected = OPENING;

	opening->result = open_all(opening);
	if (atomic_compare_exchange_strong(&opening->state, &expected, DONE))
		eventfd_write(opening->notice, 1);
	else
		discard(opening);
	return NULL;
}

/* ---- the main thread ---- */

static int set_places(struct opening *opening, const struct session *session,
		       const struct running_note *before)
{
	const struct engine_config *config = &session->engine->config;

	opening->log_dir = strdup(config->log_dir);
	opening->state_dir = strdup(config->state_dir);
	memcpy(opening->named, session->spec.output, sizeof(opening->named));
	if (!opening->log_dir || !opening->state_dir)
		return -ENOMEM;
	return before ? running_note_copy(before, &opening->before) : 0;
}

static void set_configs(struct opening *opening, const struct session *session)
{
	const struct engine *engine = session->engine;
	const struct iotr_session_spec *spec = &session->spec;

	opening->config = (struct writer_config){
		.output = opening->output,
		.streams = spec->streams,
		.session = opening->note.name,
		.level = level_name(probes_level(engine->probes)),
		.definition = definition_describe(spec),
		.hooks = hooks_describe(engine, spec->streams),
		.owner_uid = session->owner_uid,
		.format = spec->format,
		.max_size = spec->max_size,
		.max_events = spec->max_events,
		.rotate_size = spec->rotate_size,
		.rotate_interval_ns = spec->rotate_interval_ns,
		.notice = engine->notice,
	};
	if (opening->before.output[0])
		add_string(opening->config.definition, "resumes", opening->before.output);
	opening->trace_config = (struct trace_config){
		.path = opening->output,
		.streams = spec->streams,
		.compress = spec->compress,
		.keep_size = spec->keep_size,
		.keep_segments = spec->keep_segments,
	};
}

int opening_new(const struct session *session, const struct running_note *before,
		struct opening **ret)
{
	_cleanup_(opening_freep) struct opening *opening = calloc(1, sizeof(*opening));
	int r;

	if (!opening)
		return -ENOMEM;
	opening->folder = -1;
	opening->notice = session->engine->notice;
	opening->storage = session->engine->storage;
	opening->started = session->started.tv_sec;
	opening->limited = engine_storage_limited(session->engine);
	opening->anonymize = session->spec.anonymize;
	opening->in_memory = session->recorder;
	r = set_places(opening, session, before);
	if (r < 0)
		return r;
	session_describe(session, &opening->note);
	set_configs(opening, session);
	r = thread_start(&opening->thread, opening_run, opening);
	if (r < 0)
		return r;
	*ret = TAKE(opening);
	return 0;
}

void opening_cancel(struct opening *opening)
{
	atomic_store(&opening->cancelled, true);
}

bool opening_done(const struct opening *opening)
{
	return atomic_load(&opening->state) == DONE;
}

bool opening_wait(struct opening *opening, uint64_t until_ns)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	while (!opening_done(opening) && clocks_mono_ns() < until_ns)
		nanosleep(&moment, NULL);
	return opening_done(opening);
}

int opening_take(struct opening *opening, struct session *session, int *folder_fd,
		 struct engine_error *error)
{
	int r = opening->result;

	pthread_join(opening->thread, NULL);
	*folder_fd = take_fd(&opening->folder);
	*error = opening->error;
	if (r >= 0) {
		memcpy(session->anonymize_key, opening->anonymize_key,
		       sizeof(session->anonymize_key));
		memcpy(session->output, opening->output, sizeof(session->output));
		strcpy(session->note, opening->note.id);
		strcpy(session->folder, opening->note.output);
		session->inode = opening->note.inode;
		session->before = opening->extent;
		session->trace = opening->trace;
		session->writer = opening->writer;
	}
	opening_free(opening);
	return r;
}

bool opening_abandon(struct opening *opening)
{
	pthread_t thread = opening->thread;
	int expected = OPENING;

	if (!atomic_compare_exchange_strong(&opening->state, &expected, ABANDONED))
		return false;
	pthread_detach(thread);
	return true;
}

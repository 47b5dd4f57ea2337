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
#include "engine_resume.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "spec/definition.h"
#include "thread.h"

#define PAUSE_FIRST_S 1 /* before a session that continues tries its disk again; doubled each time */
#define PAUSE_MAX_S   30

enum state { OPENING, DONE, ABANDONED };

/* The thread shares nothing with the session, which may be freed before the disk answers. */
struct opening {
	_Atomic int state;
	_Atomic bool cancelled;
	pthread_mutex_t lock; /* protects `trouble`, and the pauses between tries */
	pthread_cond_t cancel;
	char trouble[sizeof(((struct engine_error *)NULL)->message)]; /* why it tries again, "": no reason yet */
	pthread_t thread;
	int notice;
	struct storage *storage;
	char *log_dir, *state_dir;
	struct rights log_rights, rights; /* `rights` are those with which the session's files are made */
	char named[PATH_MAX];  /* the folder that was asked for, or "" */
	struct running_note before; /* note of the session that it continues; its output may be "" */
	bool limited;		    /* there is a limit for all traces together */
	time_t started;
	bool anonymize, host_key;
	bool in_memory; /* a flight recorder */
	struct iotr_session_spec filters; /* only the paths of the session's filters */
	struct running_note note;
	struct trace_config trace_config;
	struct writer_config config; /* owns its objects */
	/* What has been opened so far. */
	struct paths_found *paths;
	uint8_t anonymize_key[IOTR_ANONYMIZE_KEY_SIZE];
	char output[PATH_MAX];
	int folder;
	struct trace *trace;
	struct writer *writer;
	int result;
	struct recover_extent extent; /* of previous sessions, if the limits include them */
	struct engine_error error;
};

static struct opening *opening_allocate(void)
{
	struct opening *opening = calloc(1, sizeof(*opening));
	pthread_condattr_t attributes;

	if (!opening)
		return NULL;
	opening->folder = -1;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&opening->cancel, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&opening->lock, NULL);
	return opening;
}

static void opening_free(struct opening *opening)
{
	pthread_cond_destroy(&opening->cancel);
	pthread_mutex_destroy(&opening->lock);
	free(opening->log_dir);
	free(opening->state_dir);
	running_note_done(&opening->note);
	running_note_done(&opening->before);
	json_object_put(opening->config.definition);
	json_object_put(opening->config.hooks);
	closep(&opening->folder);
	paths_found_free(opening->paths);
	iotr_session_spec_done(&opening->filters);
	explicit_bzero(opening->anonymize_key, sizeof(opening->anonymize_key));
	free(opening);
}

DEFINE_CLEANUP(struct opening *, opening_free);

/* ---- the thread ---- */

static bool is_continuation(const struct opening *opening)
{
	return opening->before.output[0];
}

/* The previous output folder must be the same inode: its disk may not be mounted. */
static bool is_there(const struct opening *opening)
{
	struct stat status;

	return !lstat(opening->before.output, &status) && S_ISDIR(status.st_mode) &&
	       status.st_ino == opening->before.inode;
}

/*
 * From now on, if the daemon is killed, the new folder may be left behind empty; this note lets recovery
 * remove it.
 */
static void note_ahead(const char *path, void *userdata)
{
	struct opening *opening = userdata;

	session_note_ahead(opening->state_dir, &opening->note, path);
}

/*
 * A session that continues makes a new folder: inside the folder that the user named, which contains files by
 * now, otherwise in the default place.
 */
static int folder_again(struct opening *opening)
{
	const struct output_maker maker = { note_ahead, opening };
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
				     &maker, error->message, sizeof(error->message));
}

static int make_folder(struct opening *opening)
{
	const struct output_maker maker = { note_ahead, opening };
	struct engine_error *error = &opening->error;

	if (opening->named[0] && is_continuation(opening))
		return folder_again(opening);
	if (!opening->named[0])
		return output_create_default(opening->log_dir, opening->note.name, opening->started,
					     opening->output, &maker, error->message,
					     sizeof(error->message));
	memcpy(opening->output, opening->named, sizeof(opening->output));
	return output_create(opening->output, &maker, error->message, sizeof(error->message));
}

/* The session may have been cancelled while the disk delayed this. */
static int open_folder(struct opening *opening)
{
	const struct rights *own = rights_use(&opening->rights);

	opening->config.own_folder = false;
	opening->folder = make_folder(opening);
	rights_use(own);
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

/*
 * The duration counts from the session's first row, which comes about now; but a session that continues keeps
 * its end. Returns 0, or a negative errno if there is no note.
 */
static int write_note(struct opening *opening)
{
	struct running_note *note = &opening->note;

	if (note->ends_ns && !is_continuation(opening))
		note->ends_ns += clocks_realtime_ns() - note->started_ns;
	return session_note(opening->state_dir, note, opening->folder);
}

static int open_writer(struct opening *opening)
{
	struct engine_error *error = &opening->error;
	int r, noted;

	opening->config.output_fd = opening->folder;
	opening->config.trace = opening->trace;
	opening->config.anonymize_key = opening->anonymize ? opening->anonymize_key : NULL;
	noted = write_note(opening);
	r = writer_new(&opening->config, &opening->writer);
	if (r >= 0 && noted < 0)
		session_note_failed(opening->state_dir, &opening->note, noted);
	if (r >= 0)
		return 0;
	opening->trace = NULL; /* writer_new() has freed it */
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
		r = open_writer(opening);
	if (r >= 0)
		return 0;
	if (opening->config.own_folder) {
		const struct rights *own = rights_use(&opening->rights);

		rmdir(opening->output);
		rights_use(own);
	}
	closep(&opening->folder);
	opening->folder = -1;
	running_remove(opening->state_dir, opening->note.id);
	return r;
}

/* ---- limits: they apply to a session and all that it continues, together ---- */

/* Returns false if nothing of the limit is left. */
static bool reduce(uint64_t *limit, uint64_t used)
{
	if (*limit && used >= *limit)
		return false;
	*limit -= *limit ? used : 0;
	return true;
}

static void describe_before(struct opening *opening)
{
	struct json_object *before = json_object_new_object();

	add_u64(before, "rows", opening->extent.rows);
	add_u64(before, "bytes", opening->extent.bytes);
	json_object_object_add(opening->config.definition, "before", before);
}

/* If the previous rows cannot be read and so not counted, the limits begin anew. */
static int reduce_limits(struct opening *opening)
{
	struct engine_error *error = &opening->error;
	struct writer_config *config = &opening->config;
	int r;

	if (!is_continuation(opening) || !(config->max_size || config->max_events))
		return 0;
	r = session_set_right(opening->state_dir, &opening->log_rights, opening->limited,
			      &opening->before, &opening->cancelled, &opening->extent);
	if (r == -ECANCELED || (r != -EIO && disk_may_mend(r)))
		return engine_fail(error, r, "", strerror(-r));
	if (r < 0) {
		session_not_right(&opening->before, r);
		return 0;
	}
	describe_before(opening);
	if (!reduce(&config->max_events, opening->extent.rows))
		return engine_fail(error, -EOVERFLOW, "max_events", "it had reached its limit");
	if (!reduce(&config->max_size, opening->extent.bytes))
		return engine_fail(error, -EOVERFLOW, "max_size", "it had reached its limit");
	return 0;
}

/* ---- retries: a disk that fails now may accept data later ---- */

/* The message may contain names from filters, which must not be disclosed if the session hashes names. */
static void tell_trouble(struct opening *opening, int r)
{
	const struct engine_error *error = &opening->error;
	const char *text = *error->message && !opening->anonymize ? error->message : strerror(-r);

	pthread_mutex_lock(&opening->lock);
	if (strcmp(opening->trouble, text)) {
		snprintf(opening->trouble, sizeof(opening->trouble), "%s", text);
		log_warning("session %s does not go on yet, and tries again: %s", opening->note.name, text);
	}
	pthread_mutex_unlock(&opening->lock);
}

/* Returns false if the opening was cancelled. */
static bool pause_for(struct opening *opening, unsigned int seconds)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	pthread_mutex_lock(&opening->lock);
	while (!r && !atomic_load(&opening->cancelled))
		r = pthread_cond_timedwait(&opening->cancel, &opening->lock, &until);
	pthread_mutex_unlock(&opening->lock);
	return !atomic_load(&opening->cancelled);
}

/*
 * Repeats the step until it succeeds. Only for a session that continues, until it is cancelled or its duration
 * is over.
 */
static int try_step(struct opening *opening, int (*step)(struct opening *opening))
{
	unsigned int seconds = PAUSE_FIRST_S;
	int r = step(opening);

	while (disk_may_mend(r) && is_continuation(opening)) {
		tell_trouble(opening, r);
		if (!pause_for(opening, seconds))
			return -ECANCELED;
		seconds = 2 * seconds < PAUSE_MAX_S ? 2 * seconds : PAUSE_MAX_S;
		opening->error = (struct engine_error){ 0 };
		if (opening->note.ends_ns && opening->note.ends_ns <= clocks_realtime_ns())
			return engine_fail(&opening->error, -ETIME, "", "its duration is over");
		r = step(opening);
	}
	return r;
}

/* ---- all of it ---- */

/*
 * The key of anonymisation, kept in the note: a session that continues uses the previous one, so that hashes
 * stay the same.
 */
static int take_key(struct opening *opening)
{
	struct running_note *note = &opening->note;
	int r = 0;

	if (!opening->anonymize)
		return 0;
	if (opening->before.has_key && !opening->host_key)
		memcpy(opening->anonymize_key, opening->before.anonymize_key, IOTR_ANONYMIZE_KEY_SIZE);
	else
		r = iotr_anonymize_key_choose(opening->state_dir, opening->host_key, opening->anonymize_key,
					      opening->error.message, sizeof(opening->error.message));
	if (r < 0 || opening->host_key)
		return r;
	note->has_key = true;
	memcpy(note->anonymize_key, opening->anonymize_key, IOTR_ANONYMIZE_KEY_SIZE);
	return 0;
}

static int find_paths(struct opening *opening)
{
	struct filter_error why;
	int r = 0;

	if (opening->filters.path_count)
		r = paths_find(&opening->filters, &opening->paths, &why);
	return r < 0 ? filters_fail(&opening->error, r, &why) : 0;
}

static int open_all(struct opening *opening)
{
	int r = try_step(opening, find_paths);

	if (r >= 0)
		r = try_step(opening, take_key);
	if (r < 0 || opening->in_memory)
		return r;
	r = try_step(opening, reduce_limits);
	return r < 0 ? r : try_step(opening, open_files);
}

/* Frees everything that was opened, when the opening was abandoned. */
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
		.owner_uid = session->owner.uid,
		.rights = &opening->rights,
		.format = spec->format,
		.max_size = spec->max_size,
		.max_events = spec->max_events,
		.rotate_size = spec->rotate_size,
		.rotate_interval_ns = spec->rotate_interval_ns,
		.notice = engine->notice,
	};
	if (is_continuation(opening))
		add_string(opening->config.definition, "resumes", opening->before.output);
	opening->trace_config = (struct trace_config){
		.path = opening->output,
		.rights = &opening->rights,
		.streams = spec->streams,
		.compress = spec->compress,
		.keep_size = spec->keep_size,
		.keep_segments = spec->keep_segments,
	};
}

int opening_new(const struct session *session, const struct running_note *before,
		struct opening **ret)
{
	_cleanup_(opening_freep) struct opening *opening = opening_allocate();
	int r;

	if (!opening)
		return -ENOMEM;
	opening->notice = session->engine->notice;
	opening->storage = session->engine->storage;
	opening->started = session->started.tv_sec;
	opening->log_rights = session->engine->log_rights;
	opening->rights = *session_writes_as(session);
	opening->limited = engine_storage_limited(session->engine);
	opening->anonymize = session->spec.anonymize;
	opening->host_key = session->spec.anonymize_host;
	opening->in_memory = session->recorder;
	r = set_places(opening, session, before);
	if (r < 0)
		return r;
	r = iotr_spec_filter_take(&opening->filters, &session->spec, IOTR_SPEC_PATHS);
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
	pthread_mutex_lock(&opening->lock);
	atomic_store(&opening->cancelled, true);
	pthread_cond_signal(&opening->cancel);
	pthread_mutex_unlock(&opening->lock);
}

void opening_describe_trouble(struct opening *opening, struct json_object *status)
{
	pthread_mutex_lock(&opening->lock);
	if (opening->trouble[0])
		add_string(status, "start_error", opening->trouble);
	pthread_mutex_unlock(&opening->lock);
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
		session->ends_ns = opening->writer ? opening->note.ends_ns : 0;
		session->before = opening->extent;
		session->paths = TAKE(opening->paths);
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

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What outlives the daemon: a note of each session that runs; at the next start sessions go on
 * from their notes, and a thread of low priority sets right the folders of those that were killed.
 */
#include "engine_resume.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "control/start_arguments.h"
#include "definition.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "pipeline/recover.h"
#include "pipeline/thread.h"
#include "running.h"

#define NICE	  10 /* recovery is in no hurry */
#define SECOND_NS 1000000000ULL
#define STARTS_NS SECOND_NS /* so long the daemon waits for sessions that go on, before it serves */

struct resume {
	char state_dir[PATH_MAX];
	struct storage *storage;
	bool limited; /* all traces together, by MaxUse= or KeepFree= */
	pthread_t thread;
	_Atomic bool cancel;
	pthread_mutex_t lock; /* for all below */
	pthread_cond_t changed;
	unsigned int starting; /* sessions whose notes may still be moved to the others */
	bool more;	       /* one was */
};

/* A session that is to go on, while it starts. */
struct resumption {
	struct engine *engine;
	char name[IOTR_SESSION_NAME_MAX + 1];
	char id[RUNNING_ID_MAX]; /* of its note */
};

static uint64_t nanoseconds(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * SECOND_NS + (uint64_t)time->tv_nsec;
}

/* ---- notes ---- */

/* The path without symbolic links, as nobody may lead us elsewhere later. */
static int find_folder(int folder_fd, struct running_note *note)
{
	char link[64];
	struct stat status;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", folder_fd);
	length = readlink(link, note->output, sizeof(note->output));
	if (length < 0 || fstat(folder_fd, &status) < 0)
		return -errno;
	if ((size_t)length == sizeof(note->output))
		return -ENAMETOOLONG;
	note->output[length] = '\0';
	note->inode = status.st_ino;
	return 0;
}

void session_describe(const struct session *session, struct running_note *note)
{
	*note = (struct running_note){
		.started_ns = nanoseconds(&session->started),
		.owner_uid = session->owner_uid,
		.streams = session->spec.streams,
		.definition = definition_note(&session->spec),
	};
	strcpy(note->name, session->spec.name);
	strcpy(note->output, session->folder);
	note->inode = session->inode;
	if (session->spec.duration_ns)
		note->ends_ns = note->started_ns + session->spec.duration_ns;
}

static void note_failed(const char *state_dir, const struct running_note *note, int r)
{
	log_warning("session %s will not be found again after a crash: no note in %s: %s", note->name,
		    state_dir, strerror(-r));
}

void session_note(const char *state_dir, struct running_note *note, int folder_fd)
{
	int r = find_folder(folder_fd, note);

	if (r >= 0)
		r = running_write(state_dir, note);
	if (r < 0)
		note_failed(state_dir, note, r);
}

/* Without a look at its folder, whose disk may hang. */
void session_note_again(struct session *session)
{
	const char *state_dir = session->engine->config.state_dir;
	struct running_note note;
	int r;

	if (!session->note[0]) /* it has no files */
		return;
	session_describe(session, &note);
	r = running_write(state_dir, &note);
	if (r < 0)
		note_failed(state_dir, &note, r);
	if (note.id[0]) /* else the one that is there is better than none */
		strcpy(session->note, note.id);
	running_note_done(&note);
}

void session_forget(struct session *session)
{
	if (!session->note[0])
		return;
	running_remove(session->engine->config.state_dir, session->note);
	session->note[0] = '\0';
}

/* ---- sessions go on ---- */

/* So many more are starting, or fewer: one that is not any more has its note among the others. */
static void recover_more(struct resume *resume, int starting)
{
	if (!resume)
		return;
	pthread_mutex_lock(&resume->lock);
	resume->starting += (unsigned int)starting;
	resume->more |= starting < 0;
	pthread_cond_signal(&resume->changed);
	pthread_mutex_unlock(&resume->lock);
}

static bool has(const struct running_note *note, const char *key)
{
	return json_object_object_get_ex(note->definition, key, NULL);
}

static bool filters_processes(const struct running_note *note)
{
	return json_object_object_get_ex(json_object_object_get(note->definition, "filters"), "pids", NULL);
}

/* NULL, or why it does not go on. */
static const char *refusal(const struct engine *engine, const struct running_note *note)
{
	if (!engine->config.resume)
		return "Resume=no";
	if (engine_find(engine, note->name))
		return "a session of that name runs";
	if (note->ends_ns && note->ends_ns <= clocks_realtime_ns())
		return "its duration is over";
	if (filters_processes(note))
		return "its processes may be others by now";
	return NULL;
}

/* A note is moved when its session runs again: killed in between, the later one is taken. */
static void move_note(struct engine *engine, const char *id)
{
	int r = running_move(engine->config.state_dir, id);

	if (r < 0)
		log_error("cannot move a note in %s: %s", engine->config.state_dir, strerror(-r));
}

static void refuse(const char *name, int r, const struct engine_error *error)
{
	log_error("session %s does not go on: %s%s%s", name, error->parameter,
		  *error->parameter ? ": " : "", *error->message ? error->message : strerror(-r));
}

/* One that is starting when the daemon ends goes on after it. */
static void on_started(int result, struct json_object *session, const struct engine_error *error,
		       void *userdata)
{
	_cleanup_json_ struct json_object *status = session;
	struct resumption *resumption = userdata;

	if (result >= 0)
		log_notice("session %s goes on in %s", resumption->name,
			   json_object_get_string(json_object_object_get(status, "output")) ?: "memory");
	else if (result != -ESHUTDOWN)
		refuse(resumption->name, result, error);
	if (result != -ESHUTDOWN)
		move_note(resumption->engine, resumption->id);
	recover_more(resumption->engine->resume, -1);
	free(resumption);
}

static int read_note(const struct running_note *note, struct iotr_session_spec *spec,
		     struct engine_error *error)
{
	_cleanup_json_ struct json_object *arguments = NULL;

	if (json_object_deep_copy(note->definition, &arguments, NULL) < 0)
		return -ENOMEM;
	definition_flatten(arguments);
	add_string(arguments, "name", note->name);
	if (note->ends_ns)
		add_u64(arguments, "duration_ns", note->ends_ns - clocks_realtime_ns());
	return start_arguments_read(arguments, spec, error);
}

static int begin_again(struct engine *engine, const struct running_note *note,
		       struct engine_error *error)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec = { 0 };
	struct resumption *resumption;
	int r = read_note(note, &spec, error);

	if (r < 0)
		return r;
	resumption = malloc(sizeof(*resumption));
	if (!resumption)
		return -ENOMEM;
	resumption->engine = engine;
	strcpy(resumption->name, note->name);
	strcpy(resumption->id, note->id);
	recover_more(engine->resume, 1);
	r = session_start(engine, &spec, note->owner_uid, note, on_started, resumption, error);
	if (r < 0) {
		recover_more(engine->resume, -1);
		free(resumption);
	}
	return r;
}

static void resume_session(struct engine *engine, const struct running_note *note)
{
	const char *refused = refusal(engine, note);
	struct engine_error error = { 0 };
	int r;

	if (refused) {
		log_notice("session %s does not go on: %s", note->name, refused);
		move_note(engine, note->id);
		return;
	}
	r = begin_again(engine, note, &error);
	if (r < 0) {
		refuse(note->name, r, &error);
		move_note(engine, note->id);
	}
}

/* ---- folders are set right ---- */

/* What may be otherwise next time. */
static bool may_help_to_wait(int error)
{
	return error == -ECANCELED || error == -ENOSPC || error == -EDQUOT || error == -EROFS ||
	       error == -EIO || error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

static int find_key(const char *state_dir, const struct running_note *note, struct recover_config *config,
		    uint8_t key[IOTR_ANONYMIZE_KEY_SIZE])
{
	char message[512];

	if (!has(note, "anonymize"))
		return 0;
	config->anonymize_key = key;
	if (!iotr_anonymize_key_ensure(state_dir, key, message, sizeof(message)))
		return 0;
	log_warning("the files of session %s, which was killed, are left as they are: %s", note->name, message);
	return -EIO;
}

int session_set_right(const char *state_dir, bool limited, const struct running_note *note,
		      _Atomic bool *cancel, struct recover_extent *extent)
{
	uint8_t key[IOTR_ANONYMIZE_KEY_SIZE];
	struct recover_config config = {
		.output = note->output,
		.inode = note->inode,
		.session = note->name,
		.streams = note->streams,
		.owner_uid = note->owner_uid,
		.definition = note->definition,
		.retention = limited || has(note, "keep_segments") || has(note, "keep_size"),
		.cancel = cancel,
	};
	int r = find_key(state_dir, note, &config, key);

	if (r < 0)
		return r;
	r = recover_folder(&config);
	explicit_bzero(key, sizeof(key));
	if (r > 0)
		log_notice("session %s was killed; its files are whole again in %s", note->name,
			   note->output);
	if (r < 0 && r != -ECANCELED)
		log_warning("the files of session %s, which was killed, are left as they are in %s: %s",
			    note->name, note->output, strerror(-r));
	return r < 0 || !extent ? r : recover_extent(&config, extent);
}

static int recover_one(struct resume *resume, const struct running_note *note)
{
	return session_set_right(resume->state_dir, resume->limited, note, &resume->cancel, NULL);
}

static bool wants_gzip(const struct running_note *note)
{
	struct json_object *value = NULL;

	return !json_object_object_get_ex(note->definition, "compress", &value) ||
	       strcmp(json_object_get_string(value) ?: "", "none");
}

/* From now on it is one of the traces that have ended; one that was given up stays as it is. */
static void hand_over(struct resume *resume, const struct running_note *note, int result)
{
	if (result != -ECANCELED)
		storage_recovered(resume->storage, note->output, result >= 0 && wants_gzip(note));
}

static void recover_all(struct resume *resume)
{
	struct running_note *notes = NULL;
	ssize_t count;

	count = running_read(resume->state_dir, RUNNING_RECOVER, &notes);
	for (ssize_t i = 0; i < count; i++) {
		int r = atomic_load(&resume->cancel) ? -ECANCELED : recover_one(resume, &notes[i]);

		hand_over(resume, &notes[i], r);
		if (!may_help_to_wait(r))
			running_remove(resume->state_dir, notes[i].id);
		running_note_done(&notes[i]);
	}
	free(notes);
}

/* Waits for further notes. False: none will come. */
static bool wait_for_more(struct resume *resume)
{
	bool more;

	pthread_mutex_lock(&resume->lock);
	while (!resume->more && resume->starting && !atomic_load(&resume->cancel))
		pthread_cond_wait(&resume->changed, &resume->lock);
	more = resume->more && !atomic_load(&resume->cancel);
	resume->more = false;
	pthread_mutex_unlock(&resume->lock);
	return more;
}

static void *recover_run(void *argument)
{
	struct resume *resume = argument;

	setpriority(PRIO_PROCESS, 0, NICE); /* of this thread alone, on Linux */
	do
		recover_all(resume);
	while (wait_for_more(resume));
	return NULL;
}

static void resume_free(struct resume *resume)
{
	pthread_cond_destroy(&resume->changed);
	pthread_mutex_destroy(&resume->lock);
	free(resume);
}

static struct resume *resume_new(const struct engine *engine)
{
	struct resume *resume = calloc(1, sizeof(*resume));

	if (!resume)
		return NULL;
	pthread_mutex_init(&resume->lock, NULL);
	pthread_cond_init(&resume->changed, NULL);
	resume->storage = engine->storage;
	resume->limited = engine_storage_limited(engine);
	snprintf(resume->state_dir, sizeof(resume->state_dir), "%s", engine->config.state_dir);
	return resume;
}

static void start_recovery(struct engine *engine)
{
	int r = -ENOMEM;

	if (engine->resume) {
		engine->resume->more = false; /* it looks at all there is */
		r = thread_start(&engine->resume->thread, recover_run, engine->resume);
	}
	if (r >= 0)
		return;
	log_error("cannot set right what was killed: %s", strerror(-r));
	if (engine->resume)
		resume_free(TAKE(engine->resume));
}

void engine_resume(struct engine *engine)
{
	const char *state_dir = engine->config.state_dir;
	struct running_note *notes = NULL;
	ssize_t count = running_read(state_dir, RUNNING_SESSIONS, &notes);

	engine->resume = resume_new(engine);
	if (count < 0)
		log_warning("cannot read the notes of sessions in %s: %s", state_dir,
			    strerror((int)-count));
	for (ssize_t i = 0; i < count; i++) {
		resume_session(engine, &notes[i]);
		running_note_done(&notes[i]);
	}
	free(notes);
	engine_await_starts(engine, clocks_mono_ns() + STARTS_NS);
	start_recovery(engine);
}

void engine_resume_end(struct engine *engine)
{
	if (!engine->resume)
		return;
	atomic_store(&engine->resume->cancel, true);
	recover_more(engine->resume, 0);
	pthread_join(engine->resume->thread, NULL);
	resume_free(TAKE(engine->resume));
}

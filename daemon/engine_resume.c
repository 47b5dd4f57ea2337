// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions continue after the daemon: there is a note for each running session; at the next start sessions are
 * started again from their notes, and a thread of low priority recovers the folders of those that were killed.
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
#include "log.h"
#include "pipeline/clocks.h"
#include "pipeline/recover/recover.h"
#include "running.h"
#include "spec/definition.h"
#include "spec/start_arguments.h"
#include "thread.h"

#define NICE	  10 /* low priority for recovery */
#define SECOND_NS 1000000000ULL
#define END_NS	  (5 * SECOND_NS) /* time that the daemon's end gives to recovery after cancelling it */
#define STARTS_NS SECOND_NS /* time that the daemon waits for sessions that continue, before it accepts clients */

struct resume {
	char state_dir[PATH_MAX];
	struct rights log_rights;
	struct storage *storage;
	bool limited; /* MaxUse= or KeepFree= limits all traces together */
	pthread_t thread;
	_Atomic bool cancel, done;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t changed;
	unsigned int starting; /* sessions that are being started, whose notes may still move to STATE/recover */
	bool more;	       /* a note has moved there since the thread last looked */
};

/* A session that continues, while it starts. */
struct resumption {
	struct engine *engine;
	char name[IOTR_SESSION_NAME_MAX + 1];
	char id[RUNNING_ID_MAX]; /* of the previous session's note */
};

static uint64_t nanoseconds(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * SECOND_NS + (uint64_t)time->tv_nsec;
}

/* ---- notes ---- */

/* Stores the path without symbolic links, so that nobody can redirect it later. */
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
		.owner = session->owner,
		.streams = session->spec.streams,
		.definition = definition_note(&session->spec),
	};
	if (session->anonymizer && !session->spec.anonymize_host) {
		note->has_key = true;
		memcpy(note->anonymize_key, session->anonymize_key, IOTR_ANONYMIZE_KEY_SIZE);
	}
	strcpy(note->name, session->spec.name);
	strcpy(note->output, session->folder);
	note->inode = session->inode;
	if (session->spec.duration_ns)
		note->ends_ns = session->ends_ns ?: note->started_ns + session->spec.duration_ns;
}

void session_note_failed(const char *state_dir, const struct running_note *note, int error)
{
	log_warning("session %s will not be found again after a crash: no note in %s: %s", note->name,
		    state_dir, strerror(-error));
}

int session_note(const char *state_dir, struct running_note *note, int folder_fd)
{
	int r = find_folder(folder_fd, note);

	return r < 0 ? r : running_write(state_dir, note);
}

/*
 * The path in the note must be as find_folder() will find it. An error is not reported here, as the note that
 * follows will report it.
 */
void session_note_ahead(const char *state_dir, struct running_note *note, const char *path)
{
	char parent[PATH_MAX], real[PATH_MAX];
	const struct rights *before;
	char *slash;

	snprintf(parent, sizeof(parent), "%s", path);
	while ((slash = strrchr(parent, '/')) && !slash[1])
		*slash = '\0';
	if (!slash)
		return;
	*slash = '\0';
	if (!realpath(*parent ? parent : "/", real) ||
	    snprintf(note->output, sizeof(note->output), "%s/%s", real[1] ? real : "", slash + 1) >=
		    (int)sizeof(note->output))
		return;
	before = rights_use(NULL); /* the note is written with the daemon's own rights */
	running_write(state_dir, note);
	rights_use(before);
}

/* Does not look at the session's folder, as its disk may hang. */
void session_note_again(struct session *session)
{
	const char *state_dir = session->engine->config.state_dir;
	struct running_note note;
	int r;

	if (!session->note[0]) /* a session without files has no note */
		return;
	session_describe(session, &note);
	r = running_write(state_dir, &note);
	if (r < 0)
		session_note_failed(state_dir, &note, r);
	if (note.id[0]) /* otherwise the old note stays valid, which is better than none */
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

/* ---- sessions continue ---- */

/*
 * Adds to the number of sessions that are starting; a negative number also means that a note has moved to
 * STATE/recover.
 */
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

/* Returns NULL, or why the session does not continue. */
static const char *refusal(const struct engine *engine, const struct running_note *note)
{
	if (!note->inode)
		return "it had not begun";
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

/*
 * The note moves only when its session runs again: if the daemon is killed in between, the newer of the two
 * notes counts.
 */
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

/* A session that is still starting when the daemon ends keeps its note and continues at the next start. */
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
	r = session_start(engine, &spec, &note->owner, note, on_started, resumption, error);
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

/* ---- recovery of folders ---- */

bool disk_may_mend(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -EROFS || error == -EIO;
}

/* Whether the error may be gone at the next start. */
static bool may_help_to_wait(int error)
{
	return error == -ECANCELED || disk_may_mend(error) || error == -ENOMEM || error == -EMFILE ||
	       error == -ENFILE;
}

static int find_key(const char *state_dir, const struct running_note *note, struct recover_config *config,
		    uint8_t key[IOTR_ANONYMIZE_KEY_SIZE])
{
	char message[512];

	if (!has(note, "anonymize"))
		return 0;
	config->anonymize_key = key;
	if (note->has_key) {
		memcpy(key, note->anonymize_key, IOTR_ANONYMIZE_KEY_SIZE);
		return 0;
	}
	if (!iotr_anonymize_key_ensure(state_dir, key, message, sizeof(message)))
		return 0;
	log_warning("session %s: %s", note->name, message);
	return -EIO;
}

void session_not_right(const struct running_note *note, int error)
{
	if (error != -ECANCELED)
		log_warning("the files of session %s, which was killed, are left as they are in %s: %s", note->name,
			    note->output, strerror(-error));
}

int session_set_right(const char *state_dir, const struct rights *log, bool limited,
		      const struct running_note *note, _Atomic bool *cancel, struct recover_extent *extent)
{
	uint8_t key[IOTR_ANONYMIZE_KEY_SIZE];
	struct recover_config config = {
		.output = note->output,
		.inode = note->inode,
		.session = note->name,
		.streams = note->streams,
		.owner_uid = note->owner.uid,
		.rights = running_writes_as(note, log),
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
	return r < 0 || !extent ? r : recover_extent(&config, extent);
}

/* The session was killed before its folder contained anything; the folder may not even exist. */
static int remove_unused(struct resume *resume, const struct running_note *note)
{
	const struct rights *before = rights_use(running_writes_as(note, &resume->log_rights));
	int r = recover_remove_empty(note->output);

	rights_use(before);
	return r;
}

static int recover_one(struct resume *resume, const struct running_note *note)
{
	int r;

	if (!note->inode)
		return remove_unused(resume, note);
	r = session_set_right(resume->state_dir, &resume->log_rights, resume->limited, note, &resume->cancel, NULL);
	if (r < 0)
		session_not_right(note, r);
	return r;
}

static bool wants_gzip(const struct running_note *note)
{
	struct json_object *value = NULL;

	return !json_object_object_get_ex(note->definition, "compress", &value) ||
	       strcmp(json_object_get_string(value) ?: "", "none");
}

/* From now on storage treats the folder as a trace that has ended; one that was cancelled stays as it is. */
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

		if (notes[i].inode)
			hand_over(resume, &notes[i], r);
		if (!may_help_to_wait(r))
			running_remove(resume->state_dir, notes[i].id);
		running_note_done(&notes[i]);
	}
	free(notes);
}

/* Waits for further notes. Returns false if there will be none. */
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

	setpriority(PRIO_PROCESS, 0, NICE); /* on Linux this affects the calling thread alone */
	do
		recover_all(resume);
	while (wait_for_more(resume));
	atomic_store(&resume->done, true);
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
	resume->log_rights = engine->log_rights;
	resume->storage = engine->storage;
	resume->limited = engine_storage_limited(engine);
	snprintf(resume->state_dir, sizeof(resume->state_dir), "%s", engine->config.state_dir);
	return resume;
}

static void start_recovery(struct engine *engine)
{
	int r = -ENOMEM;

	if (engine->resume) {
		engine->resume->more = false; /* the thread begins with all notes that are there */
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

static bool recovery_ends(struct resume *resume, uint64_t until_ns)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	while (!atomic_load(&resume->done) && clocks_mono_ns() < until_ns)
		nanosleep(&moment, NULL);
	if (!atomic_load(&resume->done)) {
		pthread_detach(resume->thread);
		return false;
	}
	pthread_join(resume->thread, NULL);
	return true;
}

void engine_resume_end(struct engine *engine)
{
	if (!engine->resume)
		return;
	atomic_store(&engine->resume->cancel, true);
	recover_more(engine->resume, 0);
	if (!recovery_ends(engine->resume, clocks_mono_ns() + END_NS)) {
		log_error("a folder that is set right lies on a disk that does not answer: the daemon ends without it");
		engine->hung = engine->abandoned = true;
		engine->resume = NULL; /* the thread still uses it, as long as it runs */
		return;
	}
	resume_free(TAKE(engine->resume));
}

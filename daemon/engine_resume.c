// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What outlives the daemon: a note of each session that runs; at the next start sessions go on
 * from their notes, and a thread of low priority sets right the folders of those that were killed.
 */
#include "engine_resume.h"

#include <errno.h>
#include <fcntl.h>
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

struct resume {
	char state_dir[PATH_MAX];
	struct storage *storage;
	bool limited; /* all traces together, by MaxUse= or KeepFree= */
	pthread_t thread;
	_Atomic bool cancel;
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

void session_note(struct session *session, int folder_fd)
{
	struct running_note note = {
		.started_ns = nanoseconds(&session->started),
		.owner_uid = session->owner_uid,
		.streams = session->spec.streams,
		.definition = definition_note(&session->spec),
	};
	int r = find_folder(folder_fd, &note);

	strcpy(note.name, session->spec.name);
	if (session->spec.duration_ns)
		note.ends_ns = note.started_ns + session->spec.duration_ns;
	if (r >= 0)
		r = running_write(session->engine->config.state_dir, &note);
	if (r < 0)
		log_warning("session %s will not be found again after a crash: no note in %s: %s",
			    note.name, session->engine->config.state_dir, strerror(-r));
	strcpy(session->note, note.id);
	running_note_done(&note);
}

void session_note_again(struct session *session)
{
	_cleanup_close_ int folder = open(session->output, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char before[RUNNING_ID_MAX];

	if (!session->note[0]) /* it has no files */
		return;
	strcpy(before, session->note);
	session_note(session, folder);
	if (!session->note[0]) /* the one that is there is better than none */
		strcpy(session->note, before);
}

void session_forget(struct session *session)
{
	if (!session->note[0])
		return;
	running_remove(session->engine->config.state_dir, session->note);
	session->note[0] = '\0';
}

/* ---- sessions go on ---- */

static bool has(const struct running_note *note, const char *key)
{
	return json_object_object_get_ex(note->definition, key, NULL);
}

static bool filters_processes(const struct running_note *note)
{
	return json_object_object_get_ex(json_object_object_get(note->definition, "filters"), "pids", NULL);
}

/* A folder that the user named must still be the one it was: a disk may not be mounted. */
static bool is_there(const struct running_note *note)
{
	struct stat status;

	return !lstat(note->output, &status) && S_ISDIR(status.st_mode) &&
	       status.st_ino == note->inode;
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
	if (has(note, "output") && !is_there(note))
		return "its output folder is not there";
	return NULL;
}

static int begin_again(struct engine *engine, const struct running_note *note,
		       struct engine_error *error)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec = { 0 };
	_cleanup_json_ struct json_object *status = NULL;
	int r;

	definition_flatten(note->definition);
	add_string(note->definition, "name", note->name);
	if (note->ends_ns)
		add_u64(note->definition, "duration_ns", note->ends_ns - clocks_realtime_ns());
	r = start_arguments_read(note->definition, &spec, error);
	if (r < 0)
		return r;
	return session_start(engine, &spec, note->owner_uid, note->output, &status, error);
}

static void resume_session(struct engine *engine, const struct running_note *note)
{
	const char *refused = refusal(engine, note);
	struct engine_error error = { 0 };
	int r;

	if (refused) {
		log_notice("session %s does not go on: %s", note->name, refused);
		return;
	}
	r = begin_again(engine, note, &error);
	if (r < 0)
		log_error("session %s does not go on: %s%s%s", note->name, error.parameter,
			  *error.parameter ? ": " : "",
			  *error.message ? error.message : strerror(-r));
	else
		log_notice("session %s goes on in %s", note->name,
			   engine_find(engine, note->name)->output);
}

/* ---- folders are set right ---- */

/* What may be otherwise next time. */
static bool may_help_to_wait(int error)
{
	return error == -ECANCELED || error == -ENOSPC || error == -EDQUOT || error == -EROFS ||
	       error == -EIO || error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

static int find_key(struct resume *resume, const struct running_note *note, struct recover_config *config,
		    uint8_t key[IOTR_ANONYMIZE_KEY_SIZE])
{
	char message[512];

	if (!has(note, "anonymize"))
		return 0;
	config->anonymize_key = key;
	if (!iotr_anonymize_key_ensure(resume->state_dir, key, message, sizeof(message)))
		return 0;
	log_warning("the files of session %s, which was killed, are left as they are: %s", note->name, message);
	return -EIO;
}

static int recover_one(struct resume *resume, const struct running_note *note)
{
	uint8_t key[IOTR_ANONYMIZE_KEY_SIZE];
	struct recover_config config = {
		.output = note->output,
		.inode = note->inode,
		.session = note->name,
		.streams = note->streams,
		.owner_uid = note->owner_uid,
		.definition = note->definition,
		.retention = resume->limited || has(note, "keep_segments") ||
			     has(note, "keep_size"),
		.cancel = &resume->cancel,
	};
	int r = find_key(resume, note, &config, key);

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
	return r;
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

static void *recover_all(void *argument)
{
	struct resume *resume = argument;
	struct running_note *notes = NULL;
	ssize_t count;

	setpriority(PRIO_PROCESS, 0, NICE); /* of this thread alone, on Linux */
	count = running_read(resume->state_dir, RUNNING_RECOVER, &notes);
	for (ssize_t i = 0; i < count; i++) {
		int r = atomic_load(&resume->cancel) ? -ECANCELED : recover_one(resume, &notes[i]);

		hand_over(resume, &notes[i], r);
		if (!may_help_to_wait(r))
			running_remove(resume->state_dir, notes[i].id);
		running_note_done(&notes[i]);
	}
	free(notes);
	return NULL;
}

static void start_recovery(struct engine *engine)
{
	struct resume *resume = calloc(1, sizeof(*resume));
	int r = -ENOMEM;

	if (resume) {
		resume->storage = engine->storage;
		resume->limited = engine_storage_limited(engine);
		snprintf(resume->state_dir, sizeof(resume->state_dir), "%s",
			 engine->config.state_dir);
		r = thread_start(&resume->thread, recover_all, resume);
	}
	if (r < 0) {
		log_error("cannot set right what was killed: %s", strerror(-r));
		free(resume);
		return;
	}
	engine->resume = resume;
}

/* A note is moved when its session runs again: killed in between, the later one is taken. */
void engine_resume(struct engine *engine)
{
	const char *state_dir = engine->config.state_dir;
	struct running_note *notes = NULL;
	ssize_t count = running_read(state_dir, RUNNING_SESSIONS, &notes);

	if (count < 0)
		log_warning("cannot read the notes of sessions in %s: %s", state_dir,
			    strerror((int)-count));
	for (ssize_t i = 0; i < count; i++) {
		int r;

		resume_session(engine, &notes[i]);
		r = running_move(state_dir, notes[i].id);
		if (r < 0)
			log_error("cannot move a note in %s: %s", state_dir, strerror(-r));
		running_note_done(&notes[i]);
	}
	free(notes);
	start_recovery(engine);
}

void engine_resume_end(struct engine *engine)
{
	if (!engine->resume)
		return;
	atomic_store(&engine->resume->cancel, true);
	pthread_join(engine->resume->thread, NULL);
	free(engine->resume);
	engine->resume = NULL;
}

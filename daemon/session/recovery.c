// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/recovery.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "anonymize_key.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "session/retry.h"
#include "thread.h"

#define NICE   10 /* low priority */
#define END_NS 5000000000ULL /* time that the daemon's end gives to the thread after cancelling it */

struct recovery {
	char state_dir[PATH_MAX];
	struct rights log_rights;
	struct storage *storage;
	bool limited; /* MaxUse= or KeepFree= limits all traces together */
	pthread_t thread;
	bool started;
	_Atomic bool cancel, done;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t changed;
	unsigned int starting; /* sessions that are being started, whose notes may still move to STATE/recover */
	bool more;	       /* a note has moved there since the thread last looked */
};

static bool has(const struct running_note *note, const char *key)
{
	return json_object_object_get_ex(note->definition, key, NULL);
}

/* Whether the error may be gone at the next start. */
static bool may_help_to_wait(int error)
{
	return error == -ECANCELED || retry_may_help(error) || error == -ENOMEM || error == -EMFILE ||
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
	log_message(ABOUT(SESSION_NOT_RECOVERED, .session = note->name, .output = note->output),
		    "session %s: %s", note->name, message);
	return -EIO;
}

void recovery_failed(const struct running_note *note, int error)
{
	if (error != -ECANCELED)
		log_message(ABOUT(SESSION_NOT_RECOVERED, .session = note->name, .output = note->output,
				  .error = -error),
			    "session %s was killed, and its files in %s cannot be recovered: %s", note->name,
			    note->output, strerror(-error));
}

int recovery_run(const char *state_dir, const struct rights *log, bool limited,
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
		log_message(ABOUT(SESSION_RECOVERED, .session = note->name, .output = note->output),
			    "session %s was killed, and its files in %s have been recovered", note->name,
			    note->output);
	return r < 0 || !extent ? r : recover_extent(&config, extent);
}

/* The session was killed before its folder contained anything; the folder may not even exist. */
static int remove_unused(struct recovery *recovery, const struct running_note *note)
{
	const struct rights *before = rights_use(running_writes_as(note, &recovery->log_rights));
	int r = recover_remove_empty(note->output);

	rights_use(before);
	return r;
}

static int recover_one(struct recovery *recovery, const struct running_note *note)
{
	int r;

	if (!note->inode)
		return remove_unused(recovery, note);
	r = recovery_run(recovery->state_dir, &recovery->log_rights, recovery->limited, note, &recovery->cancel, NULL);
	if (r < 0)
		recovery_failed(note, r);
	return r;
}

static bool wants_gzip(const struct running_note *note)
{
	struct json_object *value = NULL;

	return !json_object_object_get_ex(note->definition, "compress", &value) ||
	       strcmp(json_object_get_string(value) ?: "", "none");
}

/* From now on storage treats the folder as a trace that has ended; one that was cancelled stays as it is. */
static void hand_over(struct recovery *recovery, const struct running_note *note, int result)
{
	if (result != -ECANCELED)
		storage_recovered(recovery->storage, note->output, result >= 0 && wants_gzip(note));
}

static void recover_all(struct recovery *recovery)
{
	struct running_note *notes = NULL;
	ssize_t count;

	count = running_read(recovery->state_dir, RUNNING_RECOVER, &notes);
	for (ssize_t i = 0; i < count; i++) {
		int r = atomic_load(&recovery->cancel) ? -ECANCELED : recover_one(recovery, &notes[i]);

		if (notes[i].inode)
			hand_over(recovery, &notes[i], r);
		if (!may_help_to_wait(r))
			running_remove(recovery->state_dir, notes[i].id);
		running_note_done(&notes[i]);
	}
	free(notes);
}

/* Waits for further notes. Returns false if there will be none. */
static bool wait_for_more(struct recovery *recovery)
{
	bool more;

	pthread_mutex_lock(&recovery->lock);
	while (!recovery->more && recovery->starting && !atomic_load(&recovery->cancel))
		pthread_cond_wait(&recovery->changed, &recovery->lock);
	more = recovery->more && !atomic_load(&recovery->cancel);
	recovery->more = false;
	pthread_mutex_unlock(&recovery->lock);
	return more;
}

static void *recover_run(void *argument)
{
	struct recovery *recovery = argument;

	setpriority(PRIO_PROCESS, 0, NICE); /* on Linux this affects the calling thread alone */
	do
		recover_all(recovery);
	while (wait_for_more(recovery));
	atomic_store(&recovery->done, true);
	return NULL;
}

static void recovery_free(struct recovery *recovery)
{
	pthread_cond_destroy(&recovery->changed);
	pthread_mutex_destroy(&recovery->lock);
	free(recovery);
}

int recovery_new(const char *state_dir, const struct rights *log, bool limited, struct storage *storage,
		 struct recovery **ret)
{
	struct recovery *recovery = calloc(1, sizeof(*recovery));

	if (!recovery)
		return -ENOMEM;
	pthread_mutex_init(&recovery->lock, NULL);
	pthread_cond_init(&recovery->changed, NULL);
	recovery->log_rights = *log;
	recovery->storage = storage;
	recovery->limited = limited;
	snprintf(recovery->state_dir, sizeof(recovery->state_dir), "%s", state_dir);
	*ret = recovery;
	return 0;
}

/* Adds to the number of sessions that are starting; a negative number also means that a note has moved. */
static void expect(struct recovery *recovery, int starting)
{
	if (!recovery)
		return;
	pthread_mutex_lock(&recovery->lock);
	recovery->starting += (unsigned int)starting;
	recovery->more |= starting < 0;
	pthread_cond_signal(&recovery->changed);
	pthread_mutex_unlock(&recovery->lock);
}

void recovery_expect(struct recovery *recovery)
{
	expect(recovery, 1);
}

void recovery_expect_less(struct recovery *recovery)
{
	expect(recovery, -1);
}

int recovery_start(struct recovery *recovery)
{
	int r;

	recovery->more = false; /* the thread begins with all notes that are there */
	r = thread_start(&recovery->thread, recover_run, recovery);
	recovery->started = r >= 0;
	return r;
}

static bool thread_ends(struct recovery *recovery, uint64_t until_ns)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	while (!atomic_load(&recovery->done) && clocks_mono_ns() < until_ns)
		nanosleep(&moment, NULL);
	if (!atomic_load(&recovery->done)) {
		pthread_detach(recovery->thread);
		return false;
	}
	pthread_join(recovery->thread, NULL);
	return true;
}

/* A thread that is left behind goes on using the recovery as long as it runs, so that is not freed. */
bool recovery_end(struct recovery *recovery)
{
	if (!recovery)
		return true;
	atomic_store(&recovery->cancel, true);
	expect(recovery, 0);
	if (recovery->started && !thread_ends(recovery, clocks_mono_ns() + END_NS)) {
		log_message(ABOUT(LEFT_BEHIND),
			    "the recovery of a killed session waits for a disk that does not answer: the daemon ends "
			    "without waiting for it");
		return false;
	}
	recovery_free(recovery);
	return true;
}

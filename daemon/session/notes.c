// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "log.h"
#include "spec/definition.h"
#include "tree.h"

static uint64_t nanoseconds(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

void note_describe(const struct session *session, struct running_note *note)
{
	*note = (struct running_note){
		.started_ns = nanoseconds(&session->started),
		.until_ns = session->until_ns,
		.went = session->went,
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
	if (session->spec.duration_ns && (session->went || !iotr_spec_waits(&session->spec)))
		note->ends_ns = session->ends_ns ?: note->started_ns + session->spec.duration_ns;
}

void note_failed(const char *state_dir, const struct running_note *note, int error)
{
	log_warning("session %s: its note in %s cannot be written, so after a crash it neither goes on nor are its files "
		    "recovered: %s", note->name, state_dir, strerror(-error));
}

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

int note_write(const char *state_dir, struct running_note *note, int folder_fd)
{
	int r = find_folder(folder_fd, note);

	return r < 0 ? r : running_write(state_dir, note);
}

/*
 * The path in the note must be as find_folder() will find it. An error is not reported here, as the note that
 * follows will report it.
 */
void note_ahead(const char *state_dir, struct running_note *note, const char *path)
{
	_cleanup_free_ char *real = NULL;
	char parent[PATH_MAX];
	const struct rights *before;
	char *slash;

	snprintf(parent, sizeof(parent), "%s", path);
	while ((slash = strrchr(parent, '/')) && !slash[1])
		*slash = '\0';
	if (!slash)
		return;
	*slash = '\0';
	real = tree_real_path(*parent ? parent : "/");
	if (!real ||
	    snprintf(note->output, sizeof(note->output), "%s/%s", real[1] ? real : "", slash + 1) >=
		    (int)sizeof(note->output))
		return;
	before = rights_use(NULL); /* the note is written with the daemon's own rights */
	running_write(state_dir, note);
	rights_use(before);
}

/* Does not look at the session's folder, as its disk may hang. */
void note_again(struct session *session)
{
	const char *state_dir = session->context->config.state_dir;
	struct running_note note;
	int r;

	if (!session->note[0]) /* a session without files has no note */
		return;
	note_describe(session, &note);
	r = running_write(state_dir, &note);
	if (r < 0)
		note_failed(state_dir, &note, r);
	if (note.id[0]) /* otherwise the old note stays valid, which is better than none */
		strcpy(session->note, note.id);
	running_note_done(&note);
}

void note_end(struct session *session)
{
	const struct row_sink_ops *ops = session->sink->ops;
	const char *state_dir = session->context->config.state_dir;
	bool trouble = session->left_behind || (ops->trouble && ops->trouble(session->sink));

	if (!session->note[0])
		return;
	if (session->state == SESSION_FAILED)
		running_remove(state_dir, session->note);
	else if (!strcmp(session->reason, SESSION_SHUTDOWN) && !session->left_behind)
		note_again(session);
	if (!strcmp(session->reason, SESSION_SHUTDOWN))
		return;
	if (trouble)
		running_move(state_dir, session->note);
	else
		running_remove(state_dir, session->note);
	session->note[0] = '\0';
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/running.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "anonymize_key.h"
#include "cleanup.h"
#include "json_add.h"
#include "json_memory.h"
#include "json_parse.h"
#include "log.h"
#include "schema.h"
#include "spec/definition.h"
#include "write_all.h"

#define NOTE_DEPTH  32
#define NOTE_MAX    (1024 * 1024) /* in bytes, as for the message that started the session */
#define ENDING	    ".json"
#define FOLDER_MODE 0700
#define FILE_MODE   0600

DEFINE_CLEANUP(DIR *, closedir);

static const char *const folders[] = { [RUNNING_SESSIONS] = "running",
				       [RUNNING_RECOVER] = "recover" };

void running_note_done(struct running_note *note)
{
	json_object_put(note->definition);
	note->definition = NULL;
	explicit_bzero(note->anonymize_key, sizeof(note->anonymize_key));
}

int running_note_copy(const struct running_note *note, struct running_note *ret)
{
	*ret = *note;
	ret->definition = NULL;
	return json_object_deep_copy(note->definition, &ret->definition, NULL) < 0 ? -ENOMEM : 0;
}

/* Opens the folder, after making it if `make`. Returns a descriptor or a negative errno. */
static int open_folder(const char *state_dir, enum running_folder folder, bool make)
{
	_cleanup_close_ int state = -1;
	int fd;

	if (make && mkdir(state_dir, FOLDER_MODE) < 0 && errno != EEXIST)
		return -errno;
	state = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state < 0)
		return -errno;
	if (make && mkdirat(state, folders[folder], FOLDER_MODE) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(state, folders[folder], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* ---- as JSON ---- */

static struct json_object *groups_of(const struct rights *rights)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < rights->count; i++)
		json_object_array_add(array, json_object_new_uint64(rights->groups[i]));
	return array;
}

static void add_key(struct json_object *object, const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE])
{
	char text[IOTR_ANONYMIZE_KEY_TEXT];

	iotr_anonymize_key_encode(key, text);
	json_object_object_add(object, "anonymize_key",
			       json_object_new_string_len(text, 2 * IOTR_ANONYMIZE_KEY_SIZE));
	explicit_bzero(text, sizeof(text));
}

static struct json_object *describe(const struct running_note *note)
{
	struct json_object *object = json_object_new_object();

	add_string(object, "name", note->name);
	add_u64(object, "started_ns", note->started_ns);
	add_u64(object, "ends_ns", note->ends_ns);
	if (note->until_ns)
		add_u64(object, "until_ns", note->until_ns);
	if (note->went)
		add_flag(object, "went", true);
	add_u64(object, "owner_uid", note->owner.uid);
	add_u64(object, "owner_gid", note->owner.gid);
	if (note->owner.limited)
		json_object_object_add(object, "owner_groups", groups_of(&note->owner));
	json_object_object_add(object, "streams", definition_streams(note->streams));
	add_string(object, "output", note->output);
	add_u64(object, "inode", note->inode);
	if (note->has_key)
		add_key(object, note->anonymize_key);
	json_object_object_add(object, "definition", json_object_get(note->definition));
	return object;
}

static struct json_object *member(struct json_object *object, const char *key, enum json_type type)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return json_object_is_type(value, type) ? value : NULL;
}

static uint32_t read_streams(struct json_object *array)
{
	uint32_t streams = 0;

	for (size_t i = 0; array && i < json_object_array_length(array); i++) {
		int stream = iotr_stream_find(
			json_object_get_string(json_object_array_get_idx(array, i)) ?: "");

		streams |= stream < 0 ? 0 : 1U << stream;
	}
	return streams;
}

/* Unless the owner is root, his rights are limited to those in the note. */
static void read_owner(struct json_object *object, struct rights *owner)
{
	struct json_object *groups = member(object, "owner_groups", json_type_array);
	size_t count = groups ? json_object_array_length(groups) : 0;

	owner->uid = (uid_t)json_object_get_int64(member(object, "owner_uid", json_type_int));
	owner->gid = (gid_t)json_object_get_int64(member(object, "owner_gid", json_type_int));
	owner->limited = groups || (owner->uid && !geteuid());
	for (size_t i = 0; i < count && i < RIGHTS_GROUPS_MAX; i++)
		owner->groups[owner->count++] =
			(gid_t)json_object_get_int64(json_object_array_get_idx(groups, i));
}

const struct rights *running_writes_as(const struct running_note *note, const struct rights *log)
{
	return json_object_object_get_ex(note->definition, "output", NULL) ? &note->owner : log;
}

static int read_key(struct json_object *object, struct running_note *note)
{
	struct json_object *key = member(object, "anonymize_key", json_type_string);
	char text[IOTR_ANONYMIZE_KEY_TEXT + 1];

	note->has_key = key != NULL;
	if (!key)
		return 0;
	snprintf(text, sizeof(text), "%.*s\n", 2 * IOTR_ANONYMIZE_KEY_SIZE, json_object_get_string(key));
	return iotr_anonymize_key_decode(text, note->anonymize_key);
}

static int understand(struct json_object *object, struct running_note *note)
{
	const char *name = json_object_get_string(member(object, "name", json_type_string));
	const char *output = json_object_get_string(member(object, "output", json_type_string));
	struct json_object *definition = member(object, "definition", json_type_object);

	if (!name || !iotr_session_name_valid(name) || !output || *output != '/' ||
	    strlen(output) >= sizeof(note->output) || !definition)
		return -EBADMSG;
	strcpy(note->name, name);
	strcpy(note->output, output);
	note->started_ns = json_object_get_uint64(member(object, "started_ns", json_type_int));
	note->ends_ns = json_object_get_uint64(member(object, "ends_ns", json_type_int));
	note->until_ns = json_object_get_uint64(member(object, "until_ns", json_type_int));
	note->went = json_object_get_boolean(member(object, "went", json_type_boolean));
	read_owner(object, &note->owner);
	note->inode = json_object_get_uint64(member(object, "inode", json_type_int));
	note->streams = read_streams(member(object, "streams", json_type_array));
	note->definition = json_object_get(definition);
	return read_key(object, note);
}

/* ---- as files ---- */

/*
 * The note is written under another name first, so that it is either complete or absent, even after a power
 * failure.
 */
static int write_file(int folder, const char *name, struct json_object *object)
{
	_cleanup_close_ int fd = openat(folder, "new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW |
						       O_CLOEXEC, FILE_MODE);
	const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
	int r;

	if (fd < 0)
		return -errno;
	r = text ? write_all(fd, text, strlen(text)) : -ENOMEM;
	if (r >= 0 && fsync(fd) < 0)
		r = -errno;
	if (r >= 0 && renameat(folder, "new", folder, name) < 0)
		r = -errno;
	return r >= 0 && fsync(folder) < 0 ? -errno : r;
}

/*
 * Protects the temporary name, as sessions that start at the same time write their notes on threads of their
 * own.
 */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

int running_write(const char *state_dir, struct running_note *note)
{
	_cleanup_json_ struct json_object *object = NULL;
	_cleanup_close_ int folder = open_folder(state_dir, RUNNING_SESSIONS, true);
	char file[RUNNING_ID_MAX + sizeof(ENDING)];
	int r;

	if (folder < 0)
		return folder;
	json_lacks(); /* what was missing before is of something else */
	object = describe(note);
	if (json_lacks())
		return -ENOMEM;
	snprintf(note->id, sizeof(note->id), "%s@%" PRIu64, note->name, note->started_ns);
	snprintf(file, sizeof(file), "%s" ENDING, note->id);
	pthread_mutex_lock(&writing);
	r = write_file(folder, file, object);
	pthread_mutex_unlock(&writing);
	if (r < 0)
		note->id[0] = '\0';
	return r;
}

void running_remove(const char *state_dir, const char *id)
{
	char file[RUNNING_ID_MAX + sizeof(ENDING)];

	snprintf(file, sizeof(file), "%s" ENDING, id);
	for (size_t i = 0; *id && i < sizeof(folders) / sizeof(folders[0]); i++) {
		_cleanup_close_ int folder = open_folder(state_dir, (enum running_folder)i, false);

		if (folder >= 0)
			unlinkat(folder, file, 0);
	}
}

int running_move(const char *state_dir, const char *id)
{
	_cleanup_close_ int from = open_folder(state_dir, RUNNING_SESSIONS, false);
	_cleanup_close_ int to = open_folder(state_dir, RUNNING_RECOVER, true);
	char file[RUNNING_ID_MAX + sizeof(ENDING)];

	if (from < 0 || to < 0)
		return from < 0 ? from : to;
	snprintf(file, sizeof(file), "%s" ENDING, id);
	return renameat(from, file, to, file) < 0 ? -errno : 0;
}

static int read_note(int folder, const char *file, struct running_note *note)
{
	_cleanup_close_ int fd = openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	_cleanup_json_ struct json_object *object = NULL;
	_cleanup_free_ char *text = NULL;
	struct stat status;
	const char *why;
	ssize_t size;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size > NOTE_MAX)
		return -EBADMSG;
	text = calloc(1, (size_t)status.st_size + 1);
	size = text ? pread(fd, text, (size_t)status.st_size, 0) : -1;
	if (size < 0)
		return -errno;
	if (json_parse(text, (size_t)size, NOTE_DEPTH, &object, &why) == -ENOMEM)
		return -ENOMEM;
	snprintf(note->id, sizeof(note->id), "%.*s", (int)(strlen(file) - strlen(ENDING)), file);
	return json_object_is_type(object, json_type_object) ? understand(object, note) : -EBADMSG;
}

static bool is_note(const char *file)
{
	size_t length = strlen(file);

	return length > strlen(ENDING) && length < RUNNING_ID_MAX + strlen(ENDING) &&
	       *file != '.' && !strcmp(file + length - strlen(ENDING), ENDING);
}

static int latest_first(const void *a, const void *b)
{
	const struct running_note *one = a, *other = b;

	return one->started_ns < other->started_ns ? 1 : one->started_ns > other->started_ns ? -1 : 0;
}

/* Whether the error is not due to the note itself. */
static bool may_be_read_later(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EIO;
}

static int add_note(int folder, const char *file, struct running_note **notes, size_t *count)
{
	struct running_note *more = reallocarray(*notes, *count + 1, sizeof(**notes));
	int r;

	if (!more)
		return -ENOMEM;
	*notes = more;
	more[*count] = (struct running_note){ 0 };
	r = read_note(folder, file, &more[*count]);
	if (r >= 0) {
		++*count;
		return 0;
	}
	log_warning("the note %s of a session that ran cannot be read, and %s: %s", file,
		    may_be_read_later(r) ? "is tried again at the next start" : "is removed", strerror(-r));
	if (!may_be_read_later(r))
		unlinkat(folder, file, 0);
	return 0;
}

ssize_t running_read(const char *state_dir, enum running_folder which, struct running_note **notes)
{
	_cleanup_(closedirp) DIR *folder = NULL;
	int fd = open_folder(state_dir, which, false), r = 0;
	const struct dirent *entry;
	size_t count = 0;

	*notes = NULL;
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	folder = fdopendir(fd);
	if (!folder) {
		close(fd);
		return -ENOMEM;
	}
	while (r >= 0 && (entry = readdir(folder)))
		if (is_note(entry->d_name))
			r = add_note(fd, entry->d_name, notes, &count);
	if (count)
		qsort(*notes, count, sizeof(**notes), latest_first);
	return (ssize_t)count;
}

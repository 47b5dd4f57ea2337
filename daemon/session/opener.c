// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/opener.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "anonymize_key.h"
#include "cleanup.h"
#include "json_add.h"
#include "pipeline/clocks.h"
#include "pipeline/folder.h"
#include "session/notes.h"
#include "session/recovery.h"
#include "session/retry.h"
#include "spec/definition.h"
#include "tree.h"

/*
 * Rows wait in memory while the thread that writes them waits for a CPU, so it goes before what is traced; but after the
 * thread that empties the rings (see consumer.c), whose memory is locked and smaller.
 */
#define WRITER_NICE (-8)

/* The thread shares nothing with the session, which may be freed before the disk answers. */
struct opening {
	struct errand errand;
	opening_handler handler;
	void *userdata;
	struct retry retry;
	struct storage *storage;
	char *log_dir, *state_dir;
	struct rights log_rights, rights;
	struct iotr_session_spec spec;
	struct running_note before; /* note of the session that it continues; its output may be "" */
	bool limited;
	time_t started;
	struct running_note note;
	struct trace_config trace_config;
	struct writer_config config; /* owns its objects */
	struct trace *trace;
	struct opened opened;
};

static void opening_free(struct opening *opening)
{
	retry_done(&opening->retry);
	free(opening->log_dir);
	free(opening->state_dir);
	running_note_done(&opening->note);
	running_note_done(&opening->before);
	json_object_put(opening->config.definition);
	json_object_put(opening->config.hooks);
	closep(&opening->opened.folder_fd);
	paths_found_free(opening->opened.paths);
	iotr_session_spec_done(&opening->spec);
	explicit_bzero(opening->opened.anonymize_key, sizeof(opening->opened.anonymize_key));
	free(opening);
}

DEFINE_CLEANUP(struct opening *, opening_free);

static bool is_continuation(const struct opening *opening)
{
	return opening->before.output[0];
}

/* Whether it, or one like it, may have begun before: its folder may have files, and nobody waits for its start. */
static bool comes_again(const struct opening *opening)
{
	return is_continuation(opening) || opening->spec.declared;
}

static bool is_cancelled(const struct opening *opening)
{
	return atomic_load(&opening->retry.cancelled);
}

/* ---- the folder ---- */

/* The previous output folder must be the same inode: its disk may not be mounted. */
static bool is_there(const struct opening *opening)
{
	struct stat status;

	return !tree_lstat(opening->before.output, &status) && S_ISDIR(status.st_mode) &&
	       status.st_ino == opening->before.inode;
}

/*
 * From now on, if the daemon is killed, the new folder may be left behind empty; this note lets recovery
 * remove it.
 */
static void on_folder(const char *path, void *userdata)
{
	struct opening *opening = userdata;

	note_ahead(opening->state_dir, &opening->note, path);
}

/*
 * A session that continues, or that a file declares, makes a new folder: inside the folder that the user named, which may
 * contain files by now, otherwise in the default place. `parent` and `name` get the two parts of the folder that was named.
 */
static int split_named(const struct opening *opening, char parent[PATH_MAX], const char **name)
{
	char *slash;

	strcpy(parent, opening->spec.output);
	while ((slash = strrchr(parent, '/')) && !slash[1])
		*slash = '\0';
	if (!slash)
		return -EINVAL;
	*slash = '\0';
	*name = slash + 1;
	return 0;
}

static int make_folder(struct opening *opening, struct engine_error *error)
{
	const struct output_maker maker = { on_folder, opening };
	struct folder_request request = { .named = opening->spec.output, .log_dir = opening->log_dir,
					  .name = opening->note.name, .time = opening->started,
					  .rights = &opening->rights, .maker = &maker };
	char parent[PATH_MAX];
	int r;

	if (request.named[0] && comes_again(opening)) {
		const struct rights *own = rights_use(&opening->rights);
		bool there = !is_continuation(opening) || is_there(opening);

		rights_use(own);
		if (!there)
			return engine_fail(error, -ENOENT, "output", "its output folder is not there");
		r = split_named(opening, parent, &request.name);
		if (r < 0)
			return engine_fail(error, r, "output", NULL);
		request.named = "";
		request.log_dir = parent;
	}
	return folder_open(&request, opening->opened.output, error);
}

/* The session may have been cancelled while the disk delayed this. */
static int open_folder(struct opening *opening, struct engine_error *error)
{
	struct opened *opened = &opening->opened;

	opening->config.own_folder = false;
	opened->folder_fd = make_folder(opening, error);
	if (opened->folder_fd < 0)
		return opened->folder_fd;
	opening->config.own_folder = strcmp(opened->output, opening->spec.output) != 0;
	return is_cancelled(opening) ? -ECANCELED : 0;
}

/* ---- note and writer ---- */

/*
 * The duration counts from the session's first row, which comes about now; but a session that continues keeps
 * its end. Returns 0, or a negative errno if there is no note.
 */
static int write_note(struct opening *opening)
{
	struct running_note *note = &opening->note;

	if (note->ends_ns && !is_continuation(opening))
		note->ends_ns += clocks_realtime_ns() - note->started_ns;
	return note_write(opening->state_dir, note, opening->opened.folder_fd);
}

static int open_writer(struct opening *opening, struct engine_error *error)
{
	struct opened *opened = &opening->opened;
	int r, noted;

	opening->config.output_fd = opened->folder_fd;
	opening->config.trace = opening->trace;
	opening->config.anonymize_key = opening->spec.anonymize ? opened->anonymize_key : NULL;
	noted = write_note(opening);
	r = writer_new(&opening->config, &opened->writer);
	if (r >= 0 && noted < 0)
		note_failed(opening->state_dir, &opening->note, noted);
	if (r >= 0)
		return 0;
	opening->trace = NULL; /* writer_new() has freed it */
	snprintf(error->message, sizeof(error->message), "cannot write in %.300s: %s", opened->output,
		 strerror(-r));
	return engine_fail(error, r, "output", NULL);
}

static int open_files(void *userdata, struct engine_error *error)
{
	struct opening *opening = userdata;
	struct opened *opened = &opening->opened;
	int r = open_folder(opening, error);

	opening->trace_config.folder_fd = opened->folder_fd;
	if (r >= 0)
		r = folder_trace(opening->storage, &opening->trace_config, &opening->trace, error);
	if (r >= 0)
		r = open_writer(opening, error);
	if (r >= 0)
		return 0;
	if (opening->config.own_folder)
		folder_remove(opened->output, &opening->rights);
	closep(&opened->folder_fd);
	opened->folder_fd = -1;
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

	add_u64(before, "rows", opening->opened.before.rows);
	add_u64(before, "bytes", opening->opened.before.bytes);
	json_object_object_add(opening->config.definition, "before", before);
}

/* If the previous rows cannot be read and so not counted, the limits begin anew. */
static int reduce_limits(void *userdata, struct engine_error *error)
{
	struct opening *opening = userdata;
	struct writer_config *config = &opening->config;
	const struct recover_extent *before = &opening->opened.before;
	int r;

	if (!is_continuation(opening) || !(config->max_size || config->max_events))
		return 0;
	r = recovery_run(opening->state_dir, &opening->log_rights, opening->limited, &opening->before,
			 &opening->retry.cancelled, &opening->opened.before);
	if (r == -ECANCELED || (r != -EIO && retry_may_help(r)))
		return engine_fail(error, r, "", strerror(-r));
	if (r < 0) {
		recovery_failed(&opening->before, r);
		return 0;
	}
	describe_before(opening);
	if (!reduce(&config->max_events, before->rows))
		return engine_fail(error, -EOVERFLOW, "max_events", "it had reached its limit");
	if (!reduce(&config->max_size, before->bytes))
		return engine_fail(error, -EOVERFLOW, "max_size", "it had reached its limit");
	return 0;
}

/* ---- all of it, on the thread ---- */

/*
 * The key of anonymisation, kept in the note: a session that continues uses the previous one, so that hashes
 * stay the same.
 */
static int take_key(void *userdata, struct engine_error *error)
{
	struct opening *opening = userdata;
	const struct iotr_session_spec *spec = &opening->spec;
	struct running_note *note = &opening->note;
	uint8_t *key = opening->opened.anonymize_key;
	int r = 0;

	if (!spec->anonymize)
		return 0;
	if (opening->before.has_key && !spec->anonymize_host)
		memcpy(key, opening->before.anonymize_key, IOTR_ANONYMIZE_KEY_SIZE);
	else
		r = iotr_anonymize_key_choose(opening->state_dir, spec->anonymize_host, key, error->message,
					      sizeof(error->message));
	if (r < 0 || spec->anonymize_host)
		return r;
	note->has_key = true;
	memcpy(note->anonymize_key, key, IOTR_ANONYMIZE_KEY_SIZE);
	return 0;
}

static int find_paths(void *userdata, struct engine_error *error)
{
	struct opening *opening = userdata;
	struct filter_error why;
	int r = 0;

	if (opening->spec.path_count)
		r = paths_find(&opening->spec, &opening->opened.paths, &why);
	return r < 0 ? engine_fail(error, r, why.parameter, why.message) : 0;
}

/* Repeats the step until it succeeds, but only for a session for whose start nobody waits. */
static int try_step(struct opening *opening, retry_step step)
{
	const struct retry_config config = { .session = opening->note.name, .hide = opening->spec.anonymize,
					     .ends_ns = opening->note.ends_ns };
	struct engine_error *error = &opening->opened.error;

	if (!comes_again(opening))
		return step(opening, error);
	return retry_run(&opening->retry, &config, step, opening, error);
}

static int open_all(struct opening *opening)
{
	int r = try_step(opening, find_paths);

	if (r >= 0)
		r = try_step(opening, take_key);
	if (r < 0 || opening->spec.flight_recorder)
		return r;
	r = try_step(opening, reduce_limits);
	return r < 0 ? r : try_step(opening, open_files);
}

static struct opening *opening_of(struct errand *errand)
{
	return (struct opening *)((char *)errand - offsetof(struct opening, errand));
}

static void opening_work(struct errand *errand)
{
	struct opening *opening = opening_of(errand);

	opening->opened.result = open_all(opening);
}

/* It was abandoned: removes everything that was opened. */
static void opening_drop(struct errand *errand)
{
	struct opening *opening = opening_of(errand);

	if (opening->opened.writer) {
		writer_discard_begin(opening->opened.writer, NULL, NULL);
		writer_free(opening->opened.writer);
		running_remove(opening->state_dir, opening->note.id);
	}
	opening_free(opening);
}

/* ---- the main thread ---- */

static void opening_done(struct errand *errand)
{
	struct opening *opening = opening_of(errand);
	struct opened *opened = &opening->opened;

	opened->trace = opening->trace;
	opened->ends_ns = opened->writer ? opening->note.ends_ns : 0;
	strcpy(opened->note, opening->note.id);
	strcpy(opened->real_folder, opening->note.output);
	opened->inode = opening->note.inode;
	opening->handler(opened, opening->userdata);
	opening_free(opening);
}

static void set_configs(struct opening *opening, const struct opening_sources *sources)
{
	const struct iotr_session_spec *spec = &opening->spec;

	opening->config = (struct writer_config){
		.output = opening->opened.output,
		.streams = spec->streams,
		.queue_size = spec->queue_size ?: sources->queue_size,
		.session = opening->note.name,
		.level = sources->level,
		.definition = definition_describe(spec),
		.hooks = sources->hooks,
		.owner_uid = opening->note.owner.uid,
		.rights = &opening->rights,
		.format = spec->format,
		.max_size = spec->max_size,
		.max_events = spec->max_events,
		.rotate_size = spec->rotate_size,
		.rotate_interval_ns = spec->rotate_interval_ns,
		.notice = sources->errands->notice,
		.nice = WRITER_NICE,
	};
	if (is_continuation(opening))
		add_string(opening->config.definition, "resumes", opening->before.output);
	opening->trace_config = (struct trace_config){
		.path = opening->opened.output,
		.rights = &opening->rights,
		.streams = spec->streams,
		.compress = spec->compress,
		.keep_size = spec->keep_size,
		.keep_segments = spec->keep_segments,
	};
}

static int copy_sources(struct opening *opening, const struct opening_sources *sources,
			const struct running_note *before)
{
	int r;

	opening->storage = sources->storage;
	opening->started = sources->started;
	opening->log_rights = *sources->log_rights;
	opening->rights = *sources->rights;
	opening->limited = sources->limited;
	opening->log_dir = strdup(sources->log_dir);
	opening->state_dir = strdup(sources->state_dir);
	if (!opening->log_dir || !opening->state_dir)
		return -ENOMEM;
	r = iotr_session_spec_copy(&opening->spec, sources->spec);
	return r < 0 || !before ? r : running_note_copy(before, &opening->before);
}

int opening_new(struct opening_sources *sources, const struct running_note *before, opening_handler handler,
		void *userdata, struct opening **ret)
{
	_cleanup_(opening_freep) struct opening *opening = calloc(1, sizeof(*opening));
	int r;

	if (!opening) {
		running_note_done(&sources->note);
		json_object_put(sources->hooks);
		return -ENOMEM;
	}
	retry_init(&opening->retry);
	opening->errand = (struct errand){ .work = opening_work, .done = opening_done, .drop = opening_drop,
					   .unbounded = true };
	opening->handler = handler;
	opening->userdata = userdata;
	opening->note = sources->note;
	opening->opened.folder_fd = -1;
	r = copy_sources(opening, sources, before);
	set_configs(opening, sources);
	if (r >= 0)
		r = errand_begin(sources->errands, &opening->errand);
	if (r < 0)
		return r;
	*ret = TAKE(opening);
	return 0;
}

void opening_cancel(struct opening *opening)
{
	retry_cancel(&opening->retry);
}

void opening_describe_trouble(struct opening *opening, struct json_object *status)
{
	retry_describe(&opening->retry, "start_error", status);
}

bool opening_wait(const struct opening *opening, uint64_t until_ns)
{
	return errand_wait(&opening->errand, until_ns);
}

void opening_abandon(struct opening *opening)
{
	errand_abandon(&opening->errand);
}

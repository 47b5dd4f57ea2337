// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/fio.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/action.h"
#include "export/fio_files.h"
#include "export/fio_folder.h"
#include "output/json.h"
#include "output/new_file.h"

#define LENGTH_MAX UINT32_MAX /* fio reads lengths into 32 bits */
#define OPEN_MAX   256	      /* files that fio has open at once, fewer than its limit of descriptors is anywhere */

/* What fio has a word for. */
static const char *const words[EXPORT_ACTIONS] = { [EXPORT_READ] = "read",
						   [EXPORT_WRITE] = "write",
						   [EXPORT_SYNC] = "sync",
						   [EXPORT_DATASYNC] = "datasync",
						   [EXPORT_DISCARD] = "trim" };

struct open_file {
	uint32_t file;
	uint64_t used; /* number of the line */
};

/* A line as it is kept until the end, when it is known which names lead to which files. */
struct line {
	uint64_t us, offset;
	uint32_t file, length;
	enum export_action action;
};

struct fio {
	struct export_sink sink;
	FILE *stream, *lines;
	bool trims;
	struct fio_files files;
	struct fio_folder folder;
	/* Of each file, at the end: its name in the log, NULL: none yet; its place in `open` and 1, or 0. */
	struct named {
		char *name;
		uint16_t slot;
		bool nameless; /* it cannot have one */
	} *named;
	struct open_file open[OPEN_MAX];
	size_t open_count;
	bool begun;
	uint64_t first_ns, us, written, names;
	uint64_t count[EXPORT_ACTIONS], bytes[EXPORT_ACTIONS];
	uint64_t without_effect, without_place, without_name, without_data, untrimmed, other;
};

/* ---- files ---- */

static int put_file(struct fio *fio, uint64_t us, uint32_t file, const char *what)
{
	fprintf(fio->stream, "%" PRIu64 " %s %s\n", us, fio->named[file].name, what);
	return new_file_error(fio->stream);
}

static size_t least_used(const struct fio *fio)
{
	size_t found = 0;

	for (size_t i = 1; i < fio->open_count; i++)
		if (fio->open[i].used < fio->open[found].used)
			found = i;
	return found;
}

/* Gives the file a place among those that are open, and says so. */
static int open_file(struct fio *fio, uint64_t us, uint32_t file)
{
	size_t place = fio->open_count;
	int r = 0;

	if (place == OPEN_MAX) {
		place = least_used(fio);
		fio->named[fio->open[place].file].slot = 0;
		r = put_file(fio, us, fio->open[place].file, "close");
	} else {
		fio->open_count++;
	}
	fio->open[place] = (struct open_file){ .file = file };
	fio->named[file].slot = (uint16_t)(place + 1);
	return r < 0 ? r : put_file(fio, us, file, "open");
}

/* Chooses the name of the file in the log. */
static int name_file(struct fio *fio, uint32_t file)
{
	const char *path = fio_files_path(&fio->files, file), *last = fio_files_last(&fio->files, file);
	struct named *named = &fio->named[file];
	char own[FIO_NAME_MAX + 1];
	int r = 0;

	if (!path || !fio_takes(path))
		r = fio_folder_add(&fio->folder, path, last, fio->files.files[file].read_end, own, sizeof(own));
	if (r == -EEXIST)
		snprintf(fio->sink.message, sizeof(fio->sink.message),
			 "beside it, a folder for names of its own is needed, and LOG.files exists: give another name");
	named->nameless = r == -ENOENT;
	if (r < 0)
		return named->nameless ? 0 : r;
	named->name = strdup(path && fio_takes(path) ? path : own);
	fio->names++;
	return named->name ? 0 : -ENOMEM;
}

/* Makes the file one that fio has open, if it can have a name. */
static int use_file(struct fio *fio, uint64_t us, uint32_t file)
{
	struct named *named = &fio->named[file];
	int r = 0;

	if (!named->name && !named->nameless) {
		r = name_file(fio, file);
		if (!r && named->name)
			r = put_file(fio, us, file, "add");
	}
	if (r < 0 || named->nameless)
		return r;
	if (!named->slot)
		r = open_file(fio, us, file);
	fio->open[named->slot - 1].used = ++fio->written;
	return r;
}

/* ---- rows ---- */

static bool moves(enum export_action action)
{
	return action == EXPORT_READ || action == EXPORT_WRITE || action == EXPORT_DISCARD;
}

/* fio waits from one line to the next, but never behind one of time 0, so the first row has 1. */
static void set_time(struct fio *fio, uint64_t ns)
{
	uint64_t us;

	if (!fio->begun)
		fio->first_ns = ns;
	us = ns < fio->first_ns ? 1 : (ns - fio->first_ns) / 1000 + 1;
	fio->begun = true;
	fio->us = us > fio->us ? us : fio->us;
}

/* Whether the row is one that fio can do; else it is counted why not. */
static bool is_for_fio(struct fio *fio, const struct export_row *row, enum export_action action)
{
	uint64_t *why = NULL;

	if (action == EXPORT_OTHER || !words[action])
		why = &fio->other;
	else if (row->failed || (moves(action) && !row->done))
		why = &fio->without_effect;
	else if (action == EXPORT_DISCARD && !fio->trims)
		why = &fio->untrimmed;
	else if (moves(action) && (!row->has_offset || row->done > LENGTH_MAX))
		why = &fio->without_place;
	if (why)
		++*why;
	return !why;
}

static int keep_line(struct fio *fio, const struct export_row *row, enum export_action action, uint32_t number)
{
	struct fio_file *file = &fio->files.files[number];
	struct line line = { .us = fio->us, .file = number, .action = action };
	uint64_t end;

	if (moves(action)) {
		line.offset = row->offset;
		line.length = (uint32_t)row->done;
		file->moved = true;
		if (!__builtin_add_overflow(row->offset, row->done, &end) && action == EXPORT_READ && end > file->read_end)
			file->read_end = end;
	}
	fwrite(&line, sizeof(line), 1, fio->lines);
	return new_file_error(fio->lines);
}

static int put_row(struct export_sink *sink, const struct export_row *row)
{
	struct fio *fio = (struct fio *)sink;
	enum export_action action = export_action(row);
	int64_t file;

	if (!is_for_fio(fio, row, action))
		return fio_files_follow(&fio->files, row);
	file = fio_files_number(&fio->files, row);
	if (file == -E2BIG)
		snprintf(sink->message, sizeof(sink->message), "there are more than %d files: choose some, as with --path",
			 FIO_FILES_MAX);
	fio->without_place += file == -EINVAL;
	if (file < 0)
		return file == -EINVAL ? 0 : (int)file;
	set_time(fio, row->begin_ns);
	return keep_line(fio, row, action, (uint32_t)file);
}

/* ---- the log ---- */

static int put_line_of(struct fio *fio, const struct line *line)
{
	int r;

	/* Of what a replay does not write it has nothing to synchronise; and it cannot open folders, which programs do so with. */
	if (!fio->files.files[line->file].moved) {
		fio->without_data++;
		return 0;
	}
	r = use_file(fio, line->us, line->file);
	if (r < 0)
		return r;
	if (fio->named[line->file].nameless) {
		fio->without_name++;
		return 0;
	}
	fprintf(fio->stream, "%" PRIu64 " %s %s %" PRIu64 " %" PRIu32 "\n", line->us, fio->named[line->file].name,
		words[line->action], line->offset, line->length);
	fio->count[line->action]++;
	fio->bytes[line->action] += line->length;
	return new_file_error(fio->stream);
}

static int put_lines(struct fio *fio)
{
	struct line line;
	int r = 0;

	fio->named = calloc(fio->files.count + 1, sizeof(*fio->named));
	if (!fio->named)
		return -ENOMEM;
	if (fflush(fio->lines))
		return -errno;
	rewind(fio->lines);
	while (!r && fread(&line, sizeof(line), 1, fio->lines) == 1)
		r = put_line_of(fio, &line);
	for (size_t i = 0; i < fio->open_count && !r; i++)
		r = put_file(fio, fio->us, fio->open[i].file, "close");
	return r < 0 ? r : new_file_error(fio->lines);
}

static int end(struct export_sink *sink)
{
	struct fio *fio = (struct fio *)sink;
	int r = put_lines(fio);

	if (!r && !fio->count[EXPORT_READ] && !fio->count[EXPORT_WRITE] && !fio->count[EXPORT_DISCARD]) {
		snprintf(sink->message, sizeof(sink->message),
			 "no row can be replayed: of %" PRIu64 " reads, writes and the like none has all that fio needs%s",
			 fio->without_effect + fio->without_place + fio->without_name + fio->untrimmed,
			 fio->untrimmed ? "; discards are written with --trim" : "");
		r = -ENODATA;
	}
	return r < 0 ? r : fio_folder_keep(&fio->folder);
}

/* ---- the whole ---- */

static void tell_left_out(const struct fio *fio, struct json_object *document)
{
	struct json_object *left_out = json_object_new_object();

	json_object_object_add(left_out, "other operations", json_object_new_uint64(fio->other));
	json_object_object_add(left_out, "failed or moved nothing", json_object_new_uint64(fio->without_effect));
	json_object_object_add(left_out, "no offset, or no path that fio takes",
			       json_object_new_uint64(fio->without_place + fio->without_name));
	if (fio->without_data)
		json_object_object_add(left_out, "folders and files that are only synchronised",
				       json_object_new_uint64(fio->without_data));
	if (fio->untrimmed)
		json_object_object_add(left_out, "discards, which fio 3.33 and older do not replay: --trim writes them",
				       json_object_new_uint64(fio->untrimmed));
	json_object_object_add(document, "left_out", left_out);
}

static void tell(const struct export_sink *sink, struct json_object *document)
{
	const struct fio *fio = (const struct fio *)sink;
	struct json_object *operations = json_object_new_object();

	for (int action = 0; action < EXPORT_ACTIONS; action++) {
		struct json_object *one;

		if (!words[action])
			continue;
		one = json_object_new_object();

		json_object_object_add(one, "rows", json_object_new_uint64(fio->count[action]));
		json_object_object_add(one, "bytes", json_object_new_uint64(fio->bytes[action]));
		json_object_object_add(operations, words[action], one);
	}
	json_object_object_add(document, "operations", operations);
	json_object_object_add(document, "files", json_object_new_uint64(fio->names));
	if (fio->folder.count) {
		json_object_object_add(document, "names", json_escaped(fio->folder.path));
		json_object_object_add(document, "named", json_object_new_uint64(fio->folder.count));
	}
	tell_left_out(fio, document);
}

static void fio_free(struct export_sink *sink)
{
	struct fio *fio = (struct fio *)sink;

	for (size_t i = 0; fio->named && i < fio->files.count; i++)
		free(fio->named[i].name);
	free(fio->named);
	fio_folder_done(&fio->folder, !sink->kept);
	fio_files_done(&fio->files);
	if (fio->lines)
		fclose(fio->lines);
	free(fio);
}

struct export_sink *fio_new(const struct export_target *target)
{
	struct fio *fio = calloc(1, sizeof(*fio));

	if (!fio)
		return NULL;
	fio->sink = (struct export_sink){ .row = put_row, .end = end, .tell = tell, .free = fio_free };
	fio->stream = target->stream;
	fio->trims = target->trims;
	fio_folder_init(&fio->folder, strcmp(target->path, "-") ? target->path : NULL);
	fio->lines = new_file_scratch(target->path);
	if (!fio->lines) {
		fio_free(&fio->sink);
		return NULL;
	}
	fputs("fio version 3 iolog\n", fio->stream);
	return &fio->sink;
}

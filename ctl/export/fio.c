// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/fio.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "export/action.h"
#include "export/names.h"
#include "output/new_file.h"

#define LENGTH_MAX UINT32_MAX /* fio reads lengths into 32 bits */
#define OPEN_MAX   256	      /* files that fio has open at once, fewer than its limit of descriptors is anywhere */

#define DEVICES	   "/dev/"

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

struct fio {
	struct export_sink sink;
	FILE *stream;
	struct export_names names;
	uint16_t *slots; /* of each file: its place in `open` and 1, or 0 */
	size_t slot_room;
	struct open_file open[OPEN_MAX];
	size_t open_count;
	bool begun;
	uint64_t first_ns, us, lines;
	uint64_t count[EXPORT_ACTIONS], bytes[EXPORT_ACTIONS];
	uint64_t without_effect, without_place, other;
};

static int put_file(struct fio *fio, uint32_t file, const char *what)
{
	fprintf(fio->stream, "%" PRIu64 " %s %s\n", fio->us, fio->names.texts[file], what);
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
static int open_file(struct fio *fio, uint32_t file)
{
	size_t place = fio->open_count;
	int r = 0;

	if (place == OPEN_MAX) {
		place = least_used(fio);
		fio->slots[fio->open[place].file] = 0;
		r = put_file(fio, fio->open[place].file, "close");
	} else {
		fio->open_count++;
	}
	fio->open[place] = (struct open_file){ .file = file };
	fio->slots[file] = (uint16_t)(place + 1);
	return r < 0 ? r : put_file(fio, file, "open");
}

static int make_slots(struct fio *fio)
{
	size_t room = fio->slot_room ? 2 * fio->slot_room : 1024;
	uint16_t *slots = reallocarray(fio->slots, room, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	memset(slots + fio->slot_room, 0, (room - fio->slot_room) * sizeof(*slots));
	fio->slots = slots;
	fio->slot_room = room;
	return 0;
}

/* The number of the file, which is then open; or an error. */
static int64_t use_file(struct fio *fio, struct trace_text name)
{
	size_t known = fio->names.count;
	int64_t file = export_names_number(&fio->names, name, FIO_FILES_MAX);
	int r = 0;

	if (file == -E2BIG)
		snprintf(fio->sink.message, sizeof(fio->sink.message),
			 "there are more than %d files: choose some, as with --path", FIO_FILES_MAX);
	if (file < 0)
		return file;
	if ((size_t)file >= fio->slot_room)
		r = make_slots(fio);
	if (r >= 0 && fio->names.count > known)
		r = put_file(fio, (uint32_t)file, "add");
	if (r >= 0 && !fio->slots[file])
		r = open_file(fio, (uint32_t)file);
	if (r < 0)
		return r;
	fio->open[fio->slots[file] - 1].used = ++fio->lines;
	return file;
}

/*
 * Adds a byte of a name that stood in `from` as it is, or as an escape. What fio takes for the end of a name, and the
 * backslash, are escaped, so that no two files get the same. Returns the bytes that were added; 0: there is no room.
 */
static size_t put_byte(char *to, size_t room, unsigned char byte, bool disk)
{
	char text[8] = { (char)byte };

	if (byte <= ' ' || byte == 0x7f || byte == '\\')
		snprintf(text, sizeof(text), "\\x%02x", byte);
	else if (disk && byte == '!') /* the kernel's word for a slash in the name of a disk */
		text[0] = '/';
	if (strlen(text) > room)
		return 0;
	memcpy(to, text, strlen(text));
	return strlen(text);
}

/* Writes the name of the file for fio. False: it is no path, or too long. */
static bool make_name(const struct export_row *row, char name[FIO_NAME_MAX], struct trace_text *ret)
{
	bool disk = row->stream == IOTR_BLOCK;
	struct trace_text from = disk ? row->disk : row->file;
	size_t length = disk ? strlen(DEVICES) : 0, more = 1;

	/* The name of a disk that somebody made does not lead elsewhere. */
	if (!from.length || (disk ? !!memchr(from.at, '/', from.length) || *from.at == '.' : *from.at != '/'))
		return false;
	memcpy(name, DEVICES, length);
	for (size_t taken; from.length && more; from.at += taken, from.length -= taken) {
		unsigned char byte;

		taken = escape_undo(from.at, from.length, &byte);
		more = put_byte(name + length, FIO_NAME_MAX - length, byte, disk);
		length += more;
	}
	*ret = (struct trace_text){ name, length };
	return more;
}

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

static int put_row(struct export_sink *sink, const struct export_row *row)
{
	struct fio *fio = (struct fio *)sink;
	enum export_action action = export_action(row);
	char text[FIO_NAME_MAX];
	struct trace_text name;
	int64_t file;

	if (action == EXPORT_OTHER || !words[action]) {
		fio->other++;
		return 0;
	}
	if (row->failed || (moves(action) && !row->done)) {
		fio->without_effect++;
		return 0;
	}
	if (!make_name(row, text, &name) || (moves(action) && (!row->has_offset || row->done > LENGTH_MAX))) {
		fio->without_place++;
		return 0;
	}
	set_time(fio, row->begin_ns);
	file = use_file(fio, name);
	if (file < 0)
		return (int)file;
	fprintf(fio->stream, "%" PRIu64 " %s %s %" PRIu64 " %" PRIu64 "\n", fio->us, fio->names.texts[file], words[action],
		moves(action) ? row->offset : 0, moves(action) ? row->done : 0);
	fio->count[action]++;
	fio->bytes[action] += moves(action) ? row->done : 0;
	return new_file_error(fio->stream);
}

static int end(struct export_sink *sink)
{
	struct fio *fio = (struct fio *)sink;
	int r = 0;

	for (size_t i = 0; i < fio->open_count && !r; i++)
		r = put_file(fio, fio->open[i].file, "close");
	if (!r && !fio->count[EXPORT_READ] && !fio->count[EXPORT_WRITE] && !fio->count[EXPORT_DISCARD]) {
		snprintf(sink->message, sizeof(sink->message),
			 "no row can be replayed: of %" PRIu64 " reads, writes and the like none has all that fio needs",
			 fio->without_effect + fio->without_place);
		r = -ENODATA;
	}
	return r;
}

static void tell(const struct export_sink *sink, struct json_object *document)
{
	const struct fio *fio = (const struct fio *)sink;
	struct json_object *operations = json_object_new_object(), *left_out = json_object_new_object();

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
	json_object_object_add(document, "files", json_object_new_uint64(fio->names.count));
	json_object_object_add(left_out, "other operations", json_object_new_uint64(fio->other));
	json_object_object_add(left_out, "failed or moved nothing", json_object_new_uint64(fio->without_effect));
	json_object_object_add(left_out, "no offset, or no path that fio takes", json_object_new_uint64(fio->without_place));
	json_object_object_add(document, "left_out", left_out);
}

static void fio_free(struct export_sink *sink)
{
	struct fio *fio = (struct fio *)sink;

	export_names_done(&fio->names);
	free(fio->slots);
	free(fio);
}

struct export_sink *fio_new(FILE *stream)
{
	struct fio *fio = calloc(1, sizeof(*fio));

	if (!fio)
		return NULL;
	fio->sink = (struct export_sink){ .row = put_row, .end = end, .tell = tell, .free = fio_free };
	fio->stream = stream;
	fputs("fio version 3 iolog\n", stream);
	return &fio->sink;
}

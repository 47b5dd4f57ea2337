// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/action.h"
#include "export/otf2_internal.h"
#include "export/text.h"
#include "reading/time_text.h"

#define ARCHIVE_NAME "traces"
#define NAME_MOST    64 /* bytes of a name before a number */

static const char *const words[] = { [OTF2_IO_OPERATION_MODE_READ] = "read", [OTF2_IO_OPERATION_MODE_WRITE] = "write",
				     [OTF2_IO_OPERATION_MODE_FLUSH] = "flush" };

#define NO_MODE (-1)

static const int modes[EXPORT_ACTIONS + 1] = {
	[EXPORT_READ] = OTF2_IO_OPERATION_MODE_READ,	  [EXPORT_WRITE] = OTF2_IO_OPERATION_MODE_WRITE,
	[EXPORT_APPEND] = OTF2_IO_OPERATION_MODE_WRITE,	  [EXPORT_SYNC] = OTF2_IO_OPERATION_MODE_FLUSH,
	[EXPORT_DATASYNC] = OTF2_IO_OPERATION_MODE_FLUSH, [EXPORT_DISCARD] = NO_MODE,
	[EXPORT_OTHER] = NO_MODE,
};

enum { MODE_COUNT = sizeof(words) / sizeof(words[0]) };

/* ---- the library ---- */

/* The first error is the cause; it prints none by itself. */
static OTF2_ErrorCode on_error(void *data, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
			       const char *format, va_list values)
{
	struct otf2 *otf2 = data;

	(void)file;
	(void)line;
	(void)function;
	(void)format;
	(void)values;
	if (!otf2->sink.message[0])
		snprintf(otf2->sink.message, sizeof(otf2->sink.message), "%s", OTF2_Error_GetDescription(code));
	return code;
}

int otf2_result(struct otf2 *otf2, OTF2_ErrorCode code)
{
	if (code == OTF2_SUCCESS)
		return 0;
	on_error(otf2, NULL, 0, NULL, code, NULL, (va_list){ { 0 } });
	return -EIO;
}

static OTF2_FlushType before_flush(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
	(void)data;
	(void)type;
	(void)location;
	(void)caller;
	(void)final;
	return OTF2_FLUSH;
}

/* ---- locations ---- */

/* Makes room for element `number` of an array of elements of a size; new ones are 0. */
static int make_room(void *array, size_t *room, size_t number, size_t size)
{
	size_t more = *room ? 2 * *room : 256;
	char *new;

	if (number < *room)
		return 0;
	new = reallocarray(*(void **)array, more, size);
	if (!new)
		return -ENOMEM;
	memset(new + *room * size, 0, (more - *room) * size);
	*(void **)array = new;
	*room = more;
	return 0;
}

static int close_writer(struct otf2 *otf2, struct otf2_writer *open)
{
	int r = otf2_result(otf2, OTF2_EvtWriter_GetNumberOfEvents(open->writer, &otf2->tracks[open->track].events));

	otf2->current[open->owner] = 0;
	return r < 0 ? r : otf2_result(otf2, OTF2_Archive_CloseEvtWriter(otf2->archive, open->writer));
}

/* The place of the writer that was used longest ago, of those in which nothing is under way, which is closed. */
static int make_place(struct otf2 *otf2, size_t *place)
{
	*place = otf2->open_count;
	if (otf2->open_count < OTF2_OPEN_MAX) {
		otf2->open_count++;
		return 0;
	}
	for (size_t i = 0; i < OTF2_OPEN_MAX; i++)
		if (!otf2->open[i].pending &&
		    (*place == OTF2_OPEN_MAX || otf2->open[i].used < otf2->open[*place].used))
			*place = i;
	if (*place < OTF2_OPEN_MAX)
		return close_writer(otf2, &otf2->open[*place]);
	snprintf(otf2->sink.message, sizeof(otf2->sink.message),
		 "more than %d threads have I/O under way at once: choose some, as with --pid", OTF2_OPEN_MAX);
	return -E2BIG;
}

static void name_track(const struct export_row *row, char track[OTF2_NAME_SIZE], char group[OTF2_NAME_SIZE])
{
	char text[EXPORT_TEXT_MAX + 1];

	export_text_short(row->stream == IOTR_BLOCK ? row->disk : row->command, NAME_MOST, text);
	if (row->stream == IOTR_BLOCK) {
		snprintf(track, OTF2_NAME_SIZE, "%.*s", NAME_MOST, *text ? text : "(unknown)");
		snprintf(group, OTF2_NAME_SIZE, "disks");
	} else {
		snprintf(track, OTF2_NAME_SIZE, "%.*s %" PRIu64, NAME_MOST, text, row->tid);
		snprintf(group, OTF2_NAME_SIZE, "%.*s %" PRIu64, NAME_MOST, text, row->pid);
	}
}

/* The number of the text, for which there must be few enough others; what these are, when there are not. */
static int64_t number_of(struct otf2 *otf2, struct export_names *names, struct trace_text text, size_t most, const char *what)
{
	int64_t number = export_names_number(names, text, most);

	if (number == -E2BIG)
		snprintf(otf2->sink.message, sizeof(otf2->sink.message),
			 "there are more than %zu %s: choose some, as with --path or --pid", most, what);
	return number;
}

static int64_t group_of(struct otf2 *otf2, const struct export_row *row, const char *name)
{
	size_t known = otf2->groups.count;
	char key[32] = "disks";
	int64_t group;

	if (row->stream != IOTR_BLOCK)
		snprintf(key, sizeof(key), "%" PRIu64, row->pid);
	group = number_of(otf2, &otf2->groups, (struct trace_text){ key, strlen(key) }, OTF2_TRACKS_MAX, "processes");
	if (group < 0 || otf2->groups.count == known)
		return group;
	if (make_room(&otf2->group_names, &otf2->group_room, known, sizeof(*otf2->group_names)) < 0)
		return -ENOMEM;
	memcpy(otf2->group_names[known], name, sizeof(*otf2->group_names));
	return group;
}

/* Begins a location for the thread or disk of that number. */
static int add_track(struct otf2 *otf2, const struct export_row *row, uint32_t owner)
{
	char group_name[OTF2_NAME_SIZE];
	struct otf2_track *track;
	int64_t group;
	size_t place;
	int r = make_room(&otf2->tracks, &otf2->track_room, otf2->track_count, sizeof(*otf2->tracks));

	if (r >= 0 && otf2->track_count == OTF2_TRACKS_MAX) {
		snprintf(otf2->sink.message, sizeof(otf2->sink.message),
			 "there are more than %d threads: choose some, as with --pid", OTF2_TRACKS_MAX);
		r = -E2BIG;
	}
	if (r >= 0)
		r = make_place(otf2, &place);
	if (r < 0)
		return r;
	track = &otf2->tracks[otf2->track_count];
	name_track(row, track->name, group_name);
	group = group_of(otf2, row, group_name);
	if (group < 0)
		return (int)group;
	track->group = (uint32_t)group;
	otf2->open[place] = (struct otf2_writer){ .writer = OTF2_Archive_GetEvtWriter(otf2->archive, otf2->track_count),
						  .track = (uint32_t)otf2->track_count, .owner = owner };
	otf2->track_count++;
	otf2->current[owner] = (uint32_t)place + 1;
	return otf2->open[place].writer ? 0 : -EIO;
}

/* The place among the open ones that the row's thread or disk is written to. */
static int64_t place_of(struct otf2 *otf2, const struct export_row *row)
{
	char key[EXPORT_TEXT_MAX + 1];
	int64_t owner;
	int r;

	if (row->stream == IOTR_BLOCK)
		export_text(row->disk, key);
	else
		snprintf(key, sizeof(key), "%" PRIu64 "/%" PRIu64, row->pid, row->tid);
	owner = number_of(otf2, &otf2->threads, (struct trace_text){ key, strlen(key) }, OTF2_TRACKS_MAX, "threads");
	if (owner < 0)
		return owner;
	r = make_room(&otf2->current, &otf2->current_room, (size_t)owner, sizeof(*otf2->current));
	if (r >= 0 && !otf2->current[owner])
		r = add_track(otf2, row, (uint32_t)owner);
	return r < 0 ? r : (int64_t)otf2->current[owner] - 1;
}

static int64_t handle_of(struct otf2 *otf2, const struct export_row *row)
{
	bool disk = row->stream == IOTR_BLOCK;
	char text[EXPORT_TEXT_MAX + 1], key[EXPORT_TEXT_MAX + 8];
	size_t known = otf2->handles.count;
	int64_t handle;

	export_text(disk ? row->disk : row->file, text);
	/* The kind stands first, and is no part of the name: a disk is not the file /dev/NAME that it is opened by. */
	snprintf(key, sizeof(key), "%s%s", disk ? "d/dev/" : "f", *text ? text : "(unknown)");
	handle = number_of(otf2, &otf2->handles, (struct trace_text){ key, strlen(key) }, OTF2_FILES_MAX, "files");
	if (handle < 0 || otf2->handles.count == known)
		return handle;
	if (make_room(&otf2->paradigms, &otf2->paradigm_room, known, sizeof(*otf2->paradigms)) < 0)
		return -ENOMEM;
	otf2->paradigms[known] = disk ? OTF2_PARADIGM_DISKS : OTF2_PARADIGM_FILES;
	return handle;
}

/* ---- events ---- */

/* Writes what ends until then. */
static int write_ends(struct otf2 *otf2, uint64_t until_ns)
{
	struct pending one;
	int r = 0;

	while (!r && pending_take(&otf2->pending, until_ns, &one)) {
		struct otf2_writer *open = &otf2->open[one.track];

		open->pending--;
		r = otf2_result(otf2, OTF2_EvtWriter_IoOperationComplete(open->writer, NULL,
									 pending_reach(&otf2->reached_ns, one.end_ns),
									 one.file, one.bytes, one.number));
	}
	return r;
}

static int write_begin(struct otf2 *otf2, const struct export_row *row, OTF2_IoOperationMode mode, struct otf2_writer *open,
		       uint32_t handle)
{
	uint64_t ns = pending_reach(&otf2->reached_ns, row->begin_ns);

	otf2->late += ns > row->begin_ns;
	OTF2_AttributeList_RemoveAllAttributes(otf2->attributes);
	if (row->has_offset)
		OTF2_AttributeList_AddUint64(otf2->attributes, OTF2_ATTRIBUTE_OFFSET, row->offset);
	if (row->stream == IOTR_BLOCK)
		OTF2_AttributeList_AddUint64(otf2->attributes, OTF2_ATTRIBUTE_PROCESS, row->pid);
	return otf2_result(otf2, OTF2_EvtWriter_IoOperationBegin(open->writer, otf2->attributes, ns, handle, mode,
								 OTF2_IO_OPERATION_FLAG_NONE, row->asked, otf2->number));
}

static void begin_time(struct otf2 *otf2, const struct export_row *row)
{
	if (otf2->begun)
		return;
	otf2->begun = true;
	otf2->first_ns = pending_reach(&otf2->reached_ns, row->begin_ns);
	time_text_ns(row->time, &otf2->first_real_ns);
}

static int put_row(struct export_sink *sink, const struct export_row *row)
{
	struct otf2 *otf2 = (struct otf2 *)sink;
	uint64_t bytes = row->failed ? 0 : row->done;
	int64_t place, handle;
	int mode = modes[export_action(row)], r;

	if (mode == NO_MODE) {
		otf2->other++;
		return 0;
	}
	begin_time(otf2, row);
	r = write_ends(otf2, row->begin_ns);
	if (r < 0)
		return r;
	place = place_of(otf2, row);
	handle = place < 0 ? place : handle_of(otf2, row);
	if (handle < 0)
		return (int)handle;
	otf2->number++;
	otf2->open[place].used = otf2->number;
	r = write_begin(otf2, row, (OTF2_IoOperationMode)mode, &otf2->open[place], (uint32_t)handle);
	if (r >= 0)
		r = pending_add(&otf2->pending, (struct pending){ .end_ns = row->end_ns, .number = otf2->number, .bytes = bytes,
								  .track = (uint32_t)place, .file = (uint32_t)handle });
	if (r < 0)
		return r;
	otf2->open[place].pending++;
	otf2->count[mode]++;
	otf2->bytes[mode] += bytes;
	return 0;
}

/* ---- the whole ---- */

static int end(struct export_sink *sink)
{
	struct otf2 *otf2 = (struct otf2 *)sink;
	OTF2_Archive *archive = otf2->archive;
	int r = write_ends(otf2, UINT64_MAX);

	if (!r && !otf2->number) {
		snprintf(sink->message, sizeof(sink->message), "it has no read, write or sync");
		r = -ENODATA;
	}
	for (size_t i = 0; i < otf2->open_count && !r; i++)
		r = close_writer(otf2, &otf2->open[i]);
	if (!r)
		r = otf2_result(otf2, OTF2_Archive_CloseEvtFiles(archive));
	if (!r)
		r = otf2_definitions_write(otf2);
	if (!r) {
		otf2->archive = NULL;
		r = otf2_result(otf2, OTF2_Archive_Close(archive));
	}
	return r;
}

static void tell(const struct export_sink *sink, struct json_object *document)
{
	const struct otf2 *otf2 = (const struct otf2 *)sink;
	struct json_object *operations = json_object_new_object(), *left_out = json_object_new_object();

	for (int mode = 0; mode < MODE_COUNT; mode++) {
		struct json_object *one = json_object_new_object();

		json_object_object_add(one, "rows", json_object_new_uint64(otf2->count[mode]));
		json_object_object_add(one, "bytes", json_object_new_uint64(otf2->bytes[mode]));
		json_object_object_add(operations, words[mode], one);
	}
	json_object_object_add(document, "operations", operations);
	json_object_object_add(document, "files", json_object_new_uint64(otf2->handles.count));
	json_object_object_add(document, "locations", json_object_new_uint64(otf2->track_count));
	json_object_object_add(document, "late", json_object_new_uint64(otf2->late));
	json_object_object_add(left_out, "other operations", json_object_new_uint64(otf2->other));
	json_object_object_add(document, "left_out", left_out);
}

static void otf2_free(struct export_sink *sink)
{
	struct otf2 *otf2 = (struct otf2 *)sink;

	if (otf2->archive)
		OTF2_Archive_Close(otf2->archive);
	OTF2_Error_RegisterCallback(NULL, NULL);
	if (otf2->attributes)
		OTF2_AttributeList_Delete(otf2->attributes);
	export_names_done(&otf2->threads);
	export_names_done(&otf2->groups);
	export_names_done(&otf2->handles);
	pending_done(&otf2->pending);
	free(otf2->paradigms);
	free(otf2->group_names);
	free(otf2->current);
	free(otf2->tracks);
	free(otf2);
}

struct export_sink *otf2_new(const char *folder, struct json_object *manifest)
{
	static const OTF2_FlushCallbacks callbacks = { .otf2_pre_flush = before_flush };
	struct otf2 *otf2 = calloc(1, sizeof(*otf2));

	if (!otf2)
		return NULL;
	otf2->sink = (struct export_sink){ .row = put_row, .end = end, .tell = tell, .free = otf2_free };
	otf2->manifest = manifest;
	OTF2_Error_RegisterCallback(on_error, otf2);
	otf2->attributes = OTF2_AttributeList_New();
	otf2->archive = OTF2_Archive_Open(folder, ARCHIVE_NAME, OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_MIN,
					  OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	if (otf2->attributes && otf2->archive && !OTF2_Archive_SetFlushCallbacks(otf2->archive, &callbacks, otf2) &&
	    !OTF2_Archive_SetSerialCollectiveCallbacks(otf2->archive) && !OTF2_Archive_OpenEvtFiles(otf2->archive))
		return &otf2->sink;
	otf2_free(&otf2->sink);
	return NULL;
}

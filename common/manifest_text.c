// SPDX-License-Identifier: GPL-2.0-or-later
#include "manifest_text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "escape.h"
#include "json_parse.h"

#define LIST	    "segments"
#define FRAME_MAX   (16 * 1024 * 1024) /* most bytes of a manifest without its segments */
#define ELEMENT_MAX (64 * 1024)
#define WINDOW	    (64 * 1024)
#define DEPTH_MAX   32
#define END	    (-1) /* end of the file; any read error is reported as -EIO */

/* ---- bytes ---- */

static int fill(struct manifest_reader *reader)
{
	ssize_t got = pread(reader->fd, reader->window, WINDOW, (off_t)reader->at);

	if (got < 0)
		return errno == EINTR ? fill(reader) : -EIO;
	reader->have = (size_t)got;
	reader->used = 0;
	return got ? 0 : END;
}

/* Returns the next byte without consuming it; END or -EIO. */
static int peek(struct manifest_reader *reader)
{
	int r = reader->used == reader->have ? fill(reader) : 0;

	return r < 0 ? r : (unsigned char)reader->window[reader->used];
}

static int next(struct manifest_reader *reader)
{
	int byte = peek(reader);

	if (byte >= 0) {
		reader->used++;
		reader->at++;
	}
	return byte;
}

static void seek(struct manifest_reader *reader, uint64_t at)
{
	reader->at = at;
	reader->have = reader->used = 0;
}

static int keep(struct manifest_reader *reader, int byte, size_t most)
{
	if (reader->size == most)
		return -EFBIG;
	if (reader->size == reader->room) {
		size_t room = reader->room ? 2 * reader->room : 4096;
		char *text = realloc(reader->text, room);

		if (!text)
			return -ENOMEM;
		reader->text = text;
		reader->room = room;
	}
	reader->text[reader->size++] = (char)byte;
	return 0;
}

static bool is_blank(int byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/* Reads a string after its opening quote, including the closing one; it is kept if `most` is not 0. */
static int take_string(struct manifest_reader *reader, size_t most)
{
	bool escaped = false;
	int byte, r = 0;

	while (r >= 0 && (byte = next(reader)) >= 0) {
		r = most ? keep(reader, byte, most) : 0;
		if (byte == '"' && !escaped)
			return r;
		escaped = byte == '\\' && !escaped;
	}
	return r < 0 ? r : byte == END ? -EBADMSG : byte;
}

/* By how much the byte changes the nesting depth. */
static int deeper(int byte)
{
	return byte == '[' || byte == '{' ? 1 : byte == ']' || byte == '}' ? -1 : 0;
}

/* ---- everything except the segments ---- */

/* Skips the list from after its opening bracket on; only the closing bracket is kept. */
static int skip_list(struct manifest_reader *reader)
{
	int byte, r = 0, depth = 1;

	reader->list = reader->at;
	while (r >= 0 && (byte = next(reader)) >= 0) {
		if (byte == '"')
			r = take_string(reader, 0);
		depth += deeper(byte);
		if (!depth) {
			reader->end = reader->at - 1;
			return keep(reader, byte, FRAME_MAX);
		}
	}
	return r < 0 ? r : byte == END ? -EBADMSG : byte;
}

/* Whether the kept text from `from` on is the name of the list. */
static bool is_list(const struct manifest_reader *reader, size_t from)
{
	size_t length = strlen(LIST) + 2;

	return reader->size - from == length && !memcmp(reader->text + from, "\"" LIST "\"", length);
}

static int take_frame(struct manifest_reader *reader)
{
	int byte, r = 0, depth = 0;
	bool named = false; /* the name of the list was read, so the list may begin */

	while (r >= 0 && (byte = next(reader)) >= 0) {
		size_t from = reader->size;

		r = keep(reader, byte, FRAME_MAX);
		if (r >= 0 && byte == '"') {
			r = take_string(reader, FRAME_MAX);
			named = depth == 1 && !reader->list && is_list(reader, from);
		} else if (r >= 0 && byte == '[' && named) {
			r = skip_list(reader);
			named = false;
		} else {
			depth += deeper(byte);
			named &= byte == ':' || is_blank(byte);
		}
	}
	return r < 0 ? r : byte == END ? 0 : byte;
}

static struct json_object *parse(const char *text, size_t size)
{
	struct json_object *object = NULL;
	const char *why;

	return json_parse(text, size, DEPTH_MAX, &object, &why) < 0 ? NULL : object;
}

static struct json_object *parse_kept(const struct manifest_reader *reader)
{
	return parse(reader->text, reader->size);
}

int manifest_reader_init(struct manifest_reader *reader, int fd, struct json_object **ret)
{
	_cleanup_json_ struct json_object *manifest = NULL;
	struct json_object *list;
	int r;

	*reader = (struct manifest_reader){ .fd = fd, .window = malloc(WINDOW) };
	if (!reader->window) {
		close(fd);
		return -ENOMEM;
	}
	r = take_frame(reader);
	if (r < 0)
		return r;
	manifest = parse_kept(reader);
	if (!json_object_is_type(manifest, json_type_object))
		return -EBADMSG;
	/*
	 * The list that was left out must be an empty array in the result; otherwise the member occurs twice.
	 */
	list = json_object_object_get(manifest, LIST);
	if (reader->list && !(json_object_is_type(list, json_type_array) && !json_object_array_length(list)))
		return -EBADMSG;
	free(TAKE(reader->text)); /* the buffer was grown for the frame, but elements are much smaller */
	reader->room = 0;
	manifest_reader_rewind(reader);
	*ret = TAKE(manifest);
	return 0;
}

void manifest_reader_done(struct manifest_reader *reader)
{
	if (reader->window)
		close(reader->fd);
	free(reader->window);
	free(reader->text);
	*reader = (struct manifest_reader){ 0 };
}

/* ---- segments ---- */

void manifest_reader_rewind(struct manifest_reader *reader)
{
	seek(reader, reader->list);
}

/* Reads an element, up to the comma after it or the end of the list. */
static int take_element(struct manifest_reader *reader)
{
	int byte = 0, r = 0, depth = 0;

	while (r >= 0 && reader->at < reader->end && (byte = next(reader)) >= 0) {
		if (byte == ',' && !depth)
			return 0;
		r = keep(reader, byte, ELEMENT_MAX);
		if (r >= 0 && byte == '"')
			r = take_string(reader, ELEMENT_MAX);
		depth += deeper(byte);
	}
	return r < 0 ? r : byte < 0 ? -EBADMSG : 0;
}

int manifest_reader_next(struct manifest_reader *reader, struct json_object **ret)
{
	int r;

	while (reader->at < reader->end && is_blank(peek(reader)))
		next(reader);
	if (reader->at >= reader->end)
		return 0;
	reader->from = reader->at;
	reader->size = 0;
	r = take_element(reader);
	while (reader->size && is_blank(reader->text[reader->size - 1]))
		reader->size--;
	if (r < 0)
		return r;
	*ret = parse_kept(reader);
	return *ret ? 1 : -EBADMSG;
}

struct json_object *manifest_reader_again(struct manifest_reader *reader, uint64_t from, size_t size)
{
	_cleanup_free_ char *text = calloc(1, size + 1);

	if (!text || pread(reader->fd, text, size, (off_t)from) != (ssize_t)size)
		return NULL;
	return parse(text, size);
}

/* ---- writing ---- */

static void put(struct manifest_segments *segments, const char *text, size_t size)
{
	size_t wanted = segments->size + size;

	if (wanted > segments->room && !segments->failed) {
		char *grown = realloc(segments->text, wanted + wanted / 4);

		segments->failed = !grown;
		segments->text = grown ?: segments->text;
		segments->room = grown ? wanted + wanted / 4 : segments->room;
	}
	if (segments->failed)
		return;
	memcpy(segments->text + segments->size, text, size);
	segments->size = wanted;
}

void manifest_segments_add(struct manifest_segments *segments, const char *text, size_t size)
{
	const char *before = segments->size ? ",\n    " : "\n    ";

	put(segments, before, strlen(before));
	put(segments, text, size);
}

const char *manifest_segment_text(struct json_object *segment, size_t *size)
{
	return json_object_to_json_string_length(segment, JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE,
						 size);
}

void manifest_segments_add_json(struct manifest_segments *segments, struct json_object *segment)
{
	size_t size;
	const char *text = manifest_segment_text(segment, &size);

	if (text)
		manifest_segments_add(segments, text, size);
	else
		segments->failed = true;
}

void manifest_segments_done(struct manifest_segments *segments)
{
	free(segments->text);
	*segments = (struct manifest_segments){ 0 };
}

size_t manifest_pieces(struct json_object *manifest, const struct manifest_segments *segments,
		       struct iovec pieces[MANIFEST_PIECES], char **escaped)
{
	static char list[] = ",\n  \"" LIST "\": [", end[] = "\n  ]\n}\n";
	size_t size;
	const char *text;

	*escaped = NULL;
	json_object_object_del(manifest, LIST);
	text = json_object_to_json_string_length(manifest, MANIFEST_STYLE, &size);
	if (!text || segments->failed)
		return 0;
	if (escape_json_copy(text, &size, escaped) < 0)
		return 0;
	text = *escaped ?: text;
	pieces[0] = (struct iovec){ (char *)(uintptr_t)text, size - strlen("\n}") };
	pieces[1] = (struct iovec){ list, strlen(list) };
	pieces[2] = (struct iovec){ segments->text, segments->size };
	pieces[3] = (struct iovec){ end, strlen(end) };
	return pieces[0].iov_len + pieces[1].iov_len + pieces[2].iov_len + pieces[3].iov_len;
}

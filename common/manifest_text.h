/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads and writes the text of a manifest. Parsed into objects, a list of very many segments would need forty
 * times the memory of its text. So reading leaves that list out of the object and returns its elements one
 * after the other, in bounded memory; writing appends them to the rest as text. One thread per object.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define MANIFEST_NAME "manifest.json"

/*
 * The `schema_version` that is written, and the first that is read. In version 1 a segment had a `sha256` of its text;
 * since 2 it has an `xxh128` of it, and, when it is compressed, a `stored_sha256` of the file. Since 3 numbers among texts
 * begin with '#' and devices are 8:016, so that nobody takes a text for something else: see escape.h.
 */
#define MANIFEST_SCHEMA	       3
#define MANIFEST_SCHEMA_FIRST  1
#define MANIFEST_SCHEMA_XXH128 2

#define MANIFEST_STYLE                                                                             \
	(JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)

#define MANIFEST_MAX	  (1024ULL * 1024 * 1024) /* most bytes that are read: some three million segments */
#define MANIFEST_MAX_TEXT "1 GiB"

/* ---- reading ---- */

struct manifest_reader {
	int fd;
	uint64_t list, end; /* positions of the first element and of the closing bracket; 0: there is no list */
	uint64_t at;	    /* position of the next byte */
	uint64_t from;	    /* position of the element that was read last */
	char *text;	    /* text of that element, without a NUL */
	size_t size, room;
	char *window;
	size_t have, used;
};

/*
 * Begins to read. Takes the descriptor, even on an error. `*ret` is the manifest with an empty "segments",
 * owned by the caller. -EBADMSG: not a manifest; -EFBIG: too many bytes outside of the segments; or an error
 * of read(2).
 */
int manifest_reader_init(struct manifest_reader *reader, int fd, struct json_object **ret);
/* Takes an all-zero reader, and one whose initialisation failed. */
void manifest_reader_done(struct manifest_reader *reader);

/*
 * Reads the next element, which the caller owns, and returns 1; 0: there are no more; or an error as above.
 */
int manifest_reader_next(struct manifest_reader *reader, struct json_object **ret);

/* Starts again at the first element. */
void manifest_reader_rewind(struct manifest_reader *reader);

/*
 * Reads an element again from its position; NULL if it has changed. It does not become the last element read.
 */
struct json_object *manifest_reader_again(struct manifest_reader *reader, uint64_t from, size_t size);

/* ---- writing ---- */

/*
 * A list of segments that is being built; all-zero at first. Lack of memory is reported only when the list is
 * finished.
 */
struct manifest_segments {
	char *text;
	size_t size, room;
	bool failed;
};

void manifest_segments_add(struct manifest_segments *segments, const char *text, size_t size);
void manifest_segments_add_json(struct manifest_segments *segments, struct json_object *segment);
void manifest_segments_done(struct manifest_segments *segments);

/* Returns the text of one segment on one line, borrowed from the object, or NULL. */
const char *manifest_segment_text(struct json_object *segment, size_t *size);

enum { MANIFEST_PIECES = 4 };

/*
 * Splits the content of the file into pieces to be written one after the other: the manifest, from which
 * "segments" is removed, with these segments instead. All pieces are borrowed, from `*escaped`, too, which the caller
 * frees: a copy of the manifest's text where its strings are not UTF-8 (see escape_json()), else NULL. Returns the total
 * number of bytes; 0: out of memory.
 */
size_t manifest_pieces(struct json_object *manifest, const struct manifest_segments *segments,
		       struct iovec pieces[MANIFEST_PIECES], char **escaped);

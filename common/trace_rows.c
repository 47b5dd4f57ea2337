// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace_rows.h"

#include <emmintrin.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace_row_json.h"
#include "trace_scan.h"

#define PIECE (256 * 1024) /* fits into the processor's cache with what was made of it */
#define SLACK 16	   /* bytes behind the text that may be loaded with its end */

/* ---- text ---- */

/* Moves what is left to the front and reads more. Returns 1; 0: there is no more. */
static int fill(struct trace_rows *rows)
{
	ssize_t got;

	if (rows->ended)
		return 0;
	memmove(rows->buffer, rows->buffer + rows->at, rows->end - rows->at);
	rows->end -= rows->at;
	rows->at = 0;
	if (rows->end == TRACE_ROW_MAX)
		return -EMSGSIZE;
	got = TRACE_ROW_MAX - rows->end < PIECE ? TRACE_ROW_MAX - (ssize_t)rows->end : PIECE;
	got = trace_file_read(&rows->file, rows->buffer + rows->end, (size_t)got);
	if (got < 0)
		return (int)got;
	rows->ended = !got;
	rows->end += (size_t)got;
	rows->bytes += (uint64_t)got;
	return got > 0;
}

/* ---- CSV ---- */

enum outcome { GOOD, BAD, MORE };

/* The quoted field that begins here, unquoted in place. Returns the position of what ends it, or NULL: not there yet. */
static char *take_quoted(char *at, const char *end, struct trace_text *cell)
{
	char *to = at;

	cell->at = at;
	for (at++; at < end; at++) {
		if (*at == '"' && at + 1 == end)
			return NULL;
		if (*at == '"' && at[1] != '"')
			break;
		at += *at == '"';
		*to++ = *at;
	}
	cell->length = (size_t)(to - cell->at);
	return at < end ? at + 1 : NULL;
}

/* Whether the line is whole, and where it ends: line ends within quotes are part of it. */
static char *find_end(char *at, char *end)
{
	bool inside = false;

	for (; at < end; at++) {
		inside ^= *at == '"';
		if (*at == '\n' && !inside)
			return at;
	}
	return NULL;
}

/* A row with quotes somewhere. It is changed only when it is whole. */
static enum outcome split_quoted(struct trace_rows *rows, size_t *count)
{
	char *at = rows->buffer + rows->at, *end = find_end(at, rows->buffer + rows->end);
	size_t cell = 0;

	if (!end)
		return MORE;
	rows->at = (size_t)(end + 1 - rows->buffer);
	for (;; at++) {
		struct trace_text text = { at, 0 };

		if (*at == '"') {
			at = take_quoted(at, end + 1, &text);
			if (!at || (*at != ',' && at != end))
				return BAD;
		} else {
			while (at < end && *at != ',')
				if (*at++ == '"')
					return BAD;
			text.length = (size_t)(at - text.at);
		}
		if (cell < TRACE_CELLS_MAX)
			rows->cells[cell] = text;
		cell++;
		if (at == end)
			break;
	}
	*count = cell;
	return GOOD;
}

/* Bits of the sixteen bytes that end a field or begin quotes. */
static unsigned int marks(const char *at)
{
	__m128i bytes = _mm_loadu_si128((const __m128i *)at);
	__m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(',')),
				     _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')),
						  _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'))));

	return (unsigned int)_mm_movemask_epi8(found);
}

/*
 * Splits the next row into cells; `*count` may be more than there is room for. Sixteen bytes at a time, as a loop over
 * each of them takes longer than inflating the file.
 */
static enum outcome split(struct trace_rows *rows, size_t *count)
{
	const char *begin = rows->buffer + rows->at, *end = rows->buffer + rows->end, *cell = begin;
	size_t cells = 0;

	for (const char *at = begin; at < end; at += 16) {
		for (unsigned int found = marks(at); found; found &= found - 1) {
			const char *mark = at + __builtin_ctz(found);

			if (mark >= end)
				return MORE;
			if (*mark == '"')
				return split_quoted(rows, count);
			if (cells < TRACE_CELLS_MAX)
				rows->cells[cells] = (struct trace_text){ cell, (size_t)(mark - cell) };
			cells++;
			cell = mark + 1;
			if (*mark == ',')
				continue;
			rows->at = (size_t)(cell - rows->buffer);
			*count = cells;
			return GOOD;
		}
	}
	return MORE;
}

/* ---- JSON lines ---- */

static enum outcome split_object(struct trace_rows *rows, size_t *count)
{
	char *at = rows->buffer + rows->at;
	char *end = memchr(at, '\n', rows->end - rows->at);

	if (!end)
		return MORE;
	rows->at = (size_t)(end + 1 - rows->buffer);
	*count = rows->columns;
	return trace_row_json(at, end, rows->names, rows->columns, rows->cells) ? GOOD : BAD;
}

/* ---- rows ---- */

static enum outcome take(struct trace_rows *rows, size_t *count)
{
	return rows->format == IOTR_FORMAT_JSONL ? split_object(rows, count) : split(rows, count);
}

/* Reads the next line, of any number of cells. Returns 1; 0 at the end; -EBADMSG is returned as 1 with no cells. */
static int next_line(struct trace_rows *rows, size_t *count)
{
	enum outcome outcome;

	*count = 0;
	while ((outcome = take(rows, count)) == MORE) {
		int r = fill(rows);

		if (r < 0)
			return r;
		if (!r) {
			rows->cut = rows->at < rows->end;
			return 0;
		}
	}
	if (outcome == BAD)
		*count = 0;
	return 1;
}

/* Whether no further line is to be read. Whoever made the file up may have made it endless. */
static bool is_enough(const struct trace_rows *rows)
{
	return rows->rows + rows->bad_rows >= rows->rows_max || rows->bytes - (rows->end - rows->at) >= rows->bytes_max;
}

/* Looks whether the file has more than was to be read. Returns 0, or an error. */
static int end_early(struct trace_rows *rows)
{
	int r = rows->at < rows->end ? 1 : fill(rows);

	rows->more = r > 0;
	return r < 0 ? r : 0;
}

int trace_rows_next(struct trace_rows *rows)
{
	for (;;) {
		size_t count;
		int r = is_enough(rows) ? end_early(rows) : next_line(rows, &count);

		if (r <= 0)
			return r;
		if (count == rows->columns) {
			rows->rows++;
			return 1;
		}
		rows->bad_rows++;
	}
}

/* A copy, as the buffer goes on. */
static int keep_header(struct trace_rows *rows, size_t count)
{
	size_t size = 0, used = 0;

	for (size_t i = 0; i < count; i++)
		size += rows->cells[i].length;
	rows->header = malloc(size + 1);
	if (!rows->header)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		rows->names[i] = (struct trace_text){ rows->header + used, rows->cells[i].length };
		memcpy(rows->header + used, rows->cells[i].at, rows->cells[i].length);
		used += rows->cells[i].length;
	}
	rows->columns = count;
	return 0;
}

static int read_header(struct trace_rows *rows, const char *const *names, size_t columns)
{
	size_t count;
	int r = next_line(rows, &count);

	if (r <= 0)
		return r < 0 ? r : -ENOMSG;
	if (!count || count > TRACE_CELLS_MAX)
		return -EPROTO;
	r = keep_header(rows, count);
	for (size_t i = 0; r >= 0 && i < columns; i++)
		if (trace_rows_column(rows, names[i]) < 0)
			r = -EPROTO;
	return r;
}

int trace_rows_open(struct trace_rows *rows, int folder_fd, const char *name, enum iotr_format format,
		    const char *const *names, size_t columns)
{
	int r;

	*rows = (struct trace_rows){ .format = format, .rows_max = UINT64_MAX, .bytes_max = UINT64_MAX };
	r = trace_file_open(folder_fd, name, &rows->file);
	if (r < 0)
		return r;
	rows->buffer = calloc(1, TRACE_ROW_MAX + SLACK);
	if (!rows->buffer)
		return -ENOMEM;
	if (format == IOTR_FORMAT_CSV)
		return read_header(rows, names, columns);
	if (columns > TRACE_CELLS_MAX)
		return -EPROTO;
	for (size_t i = 0; i < columns; i++)
		rows->names[i] = (struct trace_text){ names[i], strlen(names[i]) };
	rows->columns = columns;
	return 0;
}

int trace_rows_column(const struct trace_rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->columns; i++)
		if (trace_text_is(rows->names[i], name))
			return (int)i;
	return -1;
}

void trace_rows_close(struct trace_rows *rows)
{
	if (!rows->buffer && rows->file.fd <= 0)
		return;
	trace_file_close(&rows->file);
	free(rows->buffer);
	free(rows->header);
	*rows = (struct trace_rows){ 0 };
}

/* ---- values ---- */

bool trace_text_is(struct trace_text text, const char *word)
{
	return strlen(word) == text.length && !memcmp(text.at, word, text.length);
}

bool trace_text_u64(struct trace_text text, uint64_t *number)
{
	uint64_t sum = 0;

	if (!text.length || text.length > 20)
		return false;
	for (size_t i = 0; i < text.length; i++) {
		unsigned int digit = (unsigned char)text.at[i] - '0';

		if (digit > 9)
			return false;
		/* Nineteen digits always fit. */
		if (i < 19)
			sum = sum * 10 + digit;
		else if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, digit, &sum))
			return false;
	}
	*number = sum;
	return true;
}

bool trace_text_s64(struct trace_text text, int64_t *number)
{
	bool negative = text.length && *text.at == '-';
	uint64_t magnitude;

	text.at += negative;
	text.length -= negative;
	if (!trace_text_u64(text, &magnitude) || magnitude > (uint64_t)INT64_MAX + negative)
		return false;
	*number = (int64_t)(negative ? -magnitude : magnitude);
	return true;
}

bool trace_text_ms(struct trace_text text, uint64_t *ns)
{
	const char *dot = memchr(text.at, '.', text.length);
	size_t whole = dot ? (size_t)(dot - text.at) : text.length;
	uint64_t ms, sum = 0;

	if (!trace_text_u64((struct trace_text){ text.at, whole }, &ms) || text.length - whole > 7)
		return false;
	for (size_t i = 1; i <= 6; i++) {
		unsigned int digit = whole + i < text.length ? (unsigned char)dot[i] - '0' : 0;

		if (digit > 9)
			return false;
		sum = sum * 10 + digit;
	}
	return !__builtin_mul_overflow(ms, 1000000, ns) && !__builtin_add_overflow(*ns, sum, ns);
}

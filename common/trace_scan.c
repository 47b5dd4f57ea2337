// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace_scan.h"

#include <emmintrin.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define JSON_DEPTH 4 /* a row is flat; with some more levels, others get a more precise error */
#define NUMBER_MAX 20

/* First and last field of a row. */
struct ends {
	const char *time;
	size_t time_size;
	uint64_t mono_ns;
};

int trace_scan_init(struct trace_scan *scan, enum iotr_format format,
		    const struct trace_columns *columns)
{
	*scan = (struct trace_scan){
		.format = format,
		.columns = columns,
		.to_ns = UINT64_MAX,
		.least_ns = UINT64_MAX,
		.header_good = format == IOTR_FORMAT_JSONL,
		.begun = format == IOTR_FORMAT_JSONL,
		.buffer = malloc(TRACE_ROW_MAX),
	};
	if (format == IOTR_FORMAT_JSONL)
		scan->tokener = json_tokener_new_ex(JSON_DEPTH);
	if (scan->buffer && (scan->tokener || format != IOTR_FORMAT_JSONL))
		return 0;
	trace_scan_done(scan);
	return -ENOMEM;
}

void trace_scan_done(struct trace_scan *scan)
{
	free(scan->buffer);
	scan->buffer = NULL;
	if (scan->tokener)
		json_tokener_free(scan->tokener);
	scan->tokener = NULL;
}

/* Finds the line feed outside of quotes that ends the row; NULL: it is not in the buffer yet. */
static const char *row_end(const char *row, const char *end, bool *quoted)
{
	const char *from = row, *feed;
	bool inside = false;

	*quoted = false;
	while ((feed = memchr(from, '\n', (size_t)(end - from)))) {
		const char *quote = from;

		while ((quote = memchr(quote, '"', (size_t)(feed - quote)))) {
			inside = !inside;
			*quoted = true;
			quote++;
		}
		if (!inside)
			return feed;
		from = feed + 1;
	}
	return NULL;
}

/* Counts sixteen bytes at a time, as a simple loop took half of the time: a comma is -1 in `found`. */
static size_t count_commas(const char *row, const char *end)
{
	const __m128i comma = _mm_set1_epi8(','), zero = _mm_setzero_si128();
	__m128i sums = zero;
	size_t commas;

	for (; end - row >= 16; row += 16) {
		__m128i found = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)row), comma);

		sums = _mm_add_epi64(sums, _mm_sad_epu8(_mm_sub_epi8(zero, found), zero));
	}
	commas = (size_t)(_mm_cvtsi128_si64(sums) +
			  _mm_cvtsi128_si64(_mm_unpackhi_epi64(sums, sums)));
	for (; row < end; row++)
		commas += *row == ',';
	return commas;
}

/*
 * Skips a quoted field and returns the position after it, at a comma or at the row's end. NULL: the quotes are
 * wrong.
 */
static const char *skip_quoted(const char *at, const char *end)
{
	for (at++; at < end; at++) {
		if (*at != '"')
			continue;
		if (at + 1 < end && at[1] == '"')
			at++;
		else
			return at + 1 == end || at[1] == ',' ? at + 1 : NULL;
	}
	return NULL;
}

/* Returns 0 if a quote is where none is allowed. */
static size_t count_quoted_columns(const char *at, const char *end)
{
	for (size_t columns = 1;; columns++) {
		if (at < end && *at == '"') {
			at = skip_quoted(at, end);
			if (!at)
				return 0;
		} else {
			while (at < end && *at != ',')
				if (*at++ == '"')
					return 0;
		}
		if (at == end)
			return columns;
		at++;
	}
}

static bool parse_number(const char *at, const char *end, uint64_t *number)
{
	if (at == end || end - at > NUMBER_MAX)
		return false;
	for (*number = 0; at < end; at++) {
		unsigned int digit = (unsigned int)*at - '0';

		if (digit > 9 || __builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, digit, number))
			return false;
	}
	return true;
}

static bool is_time(const char *text, size_t size)
{
	static const char shape[] = "dddd-dd-dd dd:dd:dd.ddddddddd";

	if (size != sizeof(shape) - 1)
		return false;
	for (size_t i = 0; i < size; i++)
		if (shape[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i])
			return false;
	return true;
}

/* Returns NULL, or what is wrong with the row, which ends before `end`. */
static const char *judge_csv(const struct trace_scan *scan, const char *row, const char *end,
			     bool quoted, struct ends *ends)
{
	size_t columns = quoted ? count_quoted_columns(row, end) : count_commas(row, end) + 1;
	const char *comma = memchr(row, ',', (size_t)(end - row));
	const char *last = memrchr(row, ',', (size_t)(end - row));

	if (!columns)
		return "its quotes are not those of CSV";
	if (columns != scan->columns->count)
		return columns < scan->columns->count ? "it has too few columns" :
							"it has too many columns";
	if (!last || !parse_number(last + 1, end, &ends->mono_ns))
		return "its mono_ns is not a number";
	ends->time = row;
	ends->time_size = (size_t)(comma - row);
	return NULL;
}

static const char *judge_members(const struct trace_scan *scan, struct json_object *row)
{
	const struct trace_columns *columns = scan->columns;
	size_t at = 0;

	json_object_object_foreach(row, key, value) {
		(void)value;
		if (at == columns->count || strcmp(key, columns->names[at++]))
			return "its keys are not the columns";
	}
	return at == columns->count ? NULL : "keys are missing";
}

static const char *judge_object(struct trace_scan *scan, struct json_object *object,
				struct ends *ends)
{
	const char *wrong = judge_members(scan, object);
	struct json_object *time, *mono;

	if (wrong)
		return wrong;
	time = json_object_object_get(object, scan->columns->names[0]);
	mono = json_object_object_get(object, scan->columns->names[scan->columns->count - 1]);
	if (!json_object_is_type(mono, json_type_int) || json_object_get_int64(mono) < 0)
		return "its mono_ns is not a number";
	if (!json_object_is_type(time, json_type_string))
		return "its timestamp is not text";
	ends->time = json_object_get_string(time);
	ends->time_size = (size_t)json_object_get_string_len(time);
	ends->mono_ns = json_object_get_uint64(mono);
	return NULL;
}

/* Keeps the object in `*ret`, as `ends` points into it. */
static const char *judge_json(struct trace_scan *scan, const char *row, const char *end,
			      struct ends *ends, struct json_object **ret)
{
	size_t size = (size_t)(end - row);

	json_tokener_reset(scan->tokener);
	*ret = json_tokener_parse_ex(scan->tokener, row, (int)size);
	if (!json_object_is_type(*ret, json_type_object) ||
	    json_tokener_get_parse_end(scan->tokener) != size)
		return "it is not a JSON object";
	return judge_object(scan, *ret, ends);
}

static void note_bad(struct trace_scan *scan, const char *because)
{
	if (!scan->bad_rows++) {
		scan->first_bad = scan->rows;
		scan->bad_because = because;
	}
}

static void keep_time(char kept[TRACE_TIME_SIZE], const struct ends *ends)
{
	memcpy(kept, ends->time, TRACE_TIME_SIZE - 1);
	kept[TRACE_TIME_SIZE - 1] = '\0';
}

static void note_good(struct trace_scan *scan, const struct ends *ends)
{
	if (ends->mono_ns < scan->from_ns || ends->mono_ns > scan->to_ns)
		if (!scan->outside_rows++)
			scan->first_outside = scan->rows;
	if (ends->mono_ns < scan->least_ns) {
		scan->least_ns = ends->mono_ns;
		keep_time(scan->least_time, ends);
	}
	if (ends->mono_ns >= scan->greatest_ns) {
		scan->greatest_ns = ends->mono_ns;
		keep_time(scan->greatest_time, ends);
	}
}

static void take_row(struct trace_scan *scan, const char *row, const char *end, bool quoted)
{
	struct json_object *object = NULL;
	struct ends ends = { 0 };
	const char *wrong;

	scan->rows++;
	wrong = scan->format == IOTR_FORMAT_CSV ? judge_csv(scan, row, end, quoted, &ends) :
					    judge_json(scan, row, end, &ends, &object);
	if (!wrong && !is_time(ends.time, ends.time_size))
		wrong = "its timestamp is not one";
	if (wrong)
		note_bad(scan, wrong);
	else
		note_good(scan, &ends);
	json_object_put(object);
}

static void take_header(struct trace_scan *scan, const char *line, size_t size)
{
	scan->begun = true;
	scan->header_good = size == scan->columns->header_size &&
			    !memcmp(line, scan->columns->header, size);
}

static const char *line_end(const struct trace_scan *scan, const char *at, const char *end,
			    bool *quoted)
{
	if (scan->format == IOTR_FORMAT_CSV)
		return row_end(at, end, quoted);
	return memchr(at, '\n', (size_t)(end - at));
}

static void take_line(struct trace_scan *scan, const char *at, const char *feed, bool quoted)
{
	size_t size = (size_t)(feed + 1 - at);

	if (scan->begun)
		take_row(scan, at, feed, quoted);
	else
		take_header(scan, at, size);
	scan->bytes += size;
}

char *trace_scan_room(struct trace_scan *scan, size_t *size)
{
	*size = TRACE_ROW_MAX - scan->used;
	return scan->buffer + scan->used;
}

void trace_scan_added(struct trace_scan *scan, size_t size)
{
	const char *at = scan->buffer, *end = scan->buffer + scan->used + size, *feed;
	bool quoted = false;

	while (!scan->stopped && (feed = line_end(scan, at, end, &quoted))) {
		take_line(scan, at, feed, quoted);
		at = feed + 1;
	}
	scan->used = (size_t)(end - at);
	if (scan->used == TRACE_ROW_MAX && !scan->stopped) {
		scan->rows++;
		note_bad(scan, "it is longer than 1 MiB");
		scan->stopped = true;
	}
	memmove(scan->buffer, at, scan->used);
}

size_t trace_scan_rest(const struct trace_scan *scan)
{
	return scan->used;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "anonymize/row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/complain.h"

/* A field: its bytes in the row, and its unescaped text. */
struct field {
	const char *raw;
	size_t raw_length;
	const char *text;
	size_t length;
	bool is_text; /* JSON only: a string, neither a number nor null */
};

static bool find_privacy(const struct anonymize_known *known, const char *name, enum iotr_privacy *privacy)
{
	for (size_t i = 0; i < known->count; i++)
		if (!strcmp(known->columns[i].name, name)) {
			*privacy = iotr_type_privacy(known->columns[i].type);
			return true;
		}
	return false;
}

bool anonymize_rows_init(struct anonymize_rows *rows, struct iotr_anonymizer *anonymizer,
			 const struct verify_segment *segment, const struct anonymize_known *known)
{
	const struct verify_stream *of = segment->stream;

	*rows = (struct anonymize_rows){ .anonymizer = anonymizer, .format = segment->format,
					 .columns = &of->columns };
	if (!known->count || of->columns.count > ANONYMIZE_COLUMNS_MAX) {
		complain(NULL, "%s: what the stream '%s' holds is not known", segment->path, of->flag);
		return false;
	}
	for (size_t i = 0; i < of->columns.count; i++)
		if (!find_privacy(known, of->names[i], &rows->privacies[i])) {
			complain("A newer iotracectl may know it.", "%s: what the column '%s' holds is not known",
				 segment->path, of->names[i]);
			return false;
		}
	return true;
}

/* ---- CSV ---- */

/*
 * Parses the quoted field that begins here and unquotes it into `scratch`. Returns the position after it, or
 * NULL if it has no end.
 */
static const char *take_quoted(const char *at, const char *end, char *scratch, struct field *field)
{
	char *to = scratch;

	for (at++; at < end; at++) {
		if (*at == '"' && (at + 1 == end || at[1] != '"'))
			break;
		at += *at == '"';
		*to++ = *at;
	}
	field->text = scratch;
	field->length = (size_t)(to - scratch);
	return at < end ? at + 1 : NULL;
}

static const char *take_csv(const struct anonymize_rows *rows, const char *at, const char *end,
			    struct field *field)
{
	const char *begin = at;

	if (at < end && *at == '"') {
		at = take_quoted(at, end, rows->scratch, field);
	} else {
		at = memchr(at, ',', (size_t)(end - at)) ?: end;
		field->text = begin;
		field->length = (size_t)(at - begin);
		if (memchr(begin, '"', field->length))
			return NULL;
	}
	field->is_text = true;
	field->raw = begin;
	field->raw_length = at ? (size_t)(at - begin) : 0;
	return at;
}

static ssize_t csv_row(const struct anonymize_rows *rows, const char *row, size_t length, char *out)
{
	const char *at = row, *end = row + length;
	char *to = out;

	for (size_t i = 0; i < rows->columns->count; i++) {
		struct field field;

		if (i && (at == end || *at++ != ','))
			return -EBADMSG;
		at = take_csv(rows, at, end, &field);
		if (!at)
			return -EBADMSG;
		if (i)
			*to++ = ',';
		if (rows->privacies[i] == IOTR_PRIVACY_PUBLIC)
			to = mempcpy(to, field.raw, field.raw_length);
		else
			to += iotr_anonymize(rows->anonymizer, rows->privacies[i], field.text, field.length, to);
	}
	return at == end ? to - out : -EBADMSG;
}

/* ---- JSON ---- */

/*
 * Parses the string that begins here and returns the position after it. Only quotes and backslashes are
 * escaped.
 */
static const char *take_text(const char *at, const char *end, char *scratch, struct field *field)
{
	char *to = scratch;

	for (at++; at < end && *at != '"'; at++) {
		if (*at == '\\' && (++at == end || (*at != '"' && *at != '\\')))
			return NULL;
		*to++ = *at;
	}
	field->text = scratch;
	field->length = (size_t)(to - scratch);
	return at < end ? at + 1 : NULL;
}

static const char *take_value(const struct anonymize_rows *rows, const char *at, const char *end,
			      struct field *field)
{
	const char *begin = at;

	field->is_text = at < end && *at == '"';
	if (field->is_text)
		at = take_text(at, end, rows->scratch, field);
	else
		while (at < end && *at != ',' && *at != '}')
			at++;
	field->raw = begin;
	field->raw_length = at ? (size_t)(at - begin) : 0;
	return at;
}

/* Skips {"name": or ,"name": and returns the position after it. */
static const char *skip_key(const char *at, const char *end, bool first, const char *name)
{
	size_t length = strlen(name);

	if ((size_t)(end - at) < length + 4 || *at != (first ? '{' : ',') || at[1] != '"' ||
	    memcmp(at + 2, name, length) || memcmp(at + 2 + length, "\":", 2))
		return NULL;
	return at + length + 4;
}

static ssize_t json_row(const struct anonymize_rows *rows, const char *row, size_t length, char *out)
{
	const char *at = row, *end = row + length;
	char *to = out;

	for (size_t i = 0; i < rows->columns->count; i++) {
		const char *key = at;
		struct field field;

		at = skip_key(at, end, !i, rows->columns->names[i]);
		if (!at)
			return -EBADMSG;
		to = mempcpy(to, key, (size_t)(at - key));
		at = take_value(rows, at, end, &field);
		if (!at)
			return -EBADMSG;
		if (rows->privacies[i] == IOTR_PRIVACY_PUBLIC || !field.is_text) {
			to = mempcpy(to, field.raw, field.raw_length);
			continue;
		}
		*to++ = '"';
		to += iotr_anonymize(rows->anonymizer, rows->privacies[i], field.text, field.length, to);
		*to++ = '"';
	}
	if (end - at != 1 || *at != '}')
		return -EBADMSG;
	*to++ = '}';
	return to - out;
}

ssize_t anonymize_row(const struct anonymize_rows *rows, const char *row, size_t length, char *out)
{
	return rows->format == IOTR_FORMAT_JSONL ? json_row(rows, row, length, out) :
					      csv_row(rows, row, length, out);
}

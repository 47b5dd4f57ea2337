// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells_anonymize.h"

#include <errno.h>
#include <stdlib.h>

#include "schema.h"

enum {
	NAMES_MAX_OF_ROW = 8, /* columns with texts that are not public */
};

struct named_columns {
	size_t count;
	uint8_t columns[NAMES_MAX_OF_ROW];
	uint8_t privacies[NAMES_MAX_OF_ROW]; /* enum iotr_privacy */
};

struct cells_anonymizer {
	struct iotr_anonymizer *hashes;
	struct named_columns named[IOTR_STREAM_COUNT];
	char text[CELLS_ANONYMIZED_MAX];
};

static int find_columns(struct named_columns *named, const struct iotr_schema *schema)
{
	for (size_t i = 0; i < schema->column_count; i++) {
		enum iotr_privacy privacy = iotr_type_privacy(schema->columns[i].type);

		if (privacy == IOTR_PRIVACY_PUBLIC)
			continue;
		if (named->count == NAMES_MAX_OF_ROW)
			return -E2BIG;
		named->columns[named->count] = (uint8_t)i;
		named->privacies[named->count++] = (uint8_t)privacy;
	}
	return 0;
}

int cells_anonymizer_new(const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], struct cells_anonymizer **ret)
{
	struct cells_anonymizer *anonymizer = calloc(1, sizeof(*anonymizer));
	int r = anonymizer ? iotr_anonymizer_new(key, &anonymizer->hashes) : -ENOMEM;

	for (size_t stream = 0; !r && stream < IOTR_STREAM_COUNT; stream++)
		r = find_columns(&anonymizer->named[stream], &iotr_schemas[stream]);
	if (r < 0) {
		cells_anonymizer_free(anonymizer);
		return r;
	}
	*ret = anonymizer;
	return 0;
}

void cells_anonymizer_free(struct cells_anonymizer *anonymizer)
{
	if (!anonymizer)
		return;
	iotr_anonymizer_free(anonymizer->hashes);
	free(anonymizer);
}

static bool has_names(const struct named_columns *named, size_t from, size_t columns)
{
	for (size_t i = 0; i < named->count; i++)
		if (named->columns[i] >= from && named->columns[i] < from + columns)
			return true;
	return false;
}

/* Fills spans that have columns with names now, so that no format keeps a name in the text of a span. */
static void fill_named(const struct named_columns *named, struct cells *cells, struct cell *cell, size_t count)
{
	for (size_t i = 0, next; i < count; i = next) {
		next = i + 1;
		if (cell[i].kind != CELL_LATE)
			continue;
		next = i + cell[i].span;
		if (has_names(named, i, cell[i].span))
			cells_fill_span(cells, cell, i);
	}
}

size_t cells_anonymize(struct cells_anonymizer *anonymizer, struct cells *cells, struct row *row,
		       struct cell *cell, size_t count)
{
	const struct named_columns *named = &anonymizer->named[row->record->stream];
	char *at = anonymizer->text;

	fill_named(named, cells, cell, count);
	for (size_t i = 0; i < named->count && named->columns[i] < count; i++) {
		struct cell *one = &cell[named->columns[i]];
		size_t length;

		if (one->kind != CELL_TEXT)
			continue;
		length = iotr_anonymize(anonymizer->hashes, named->privacies[i], one->text, one->length, at);
		*one = cell_bytes(at, length, false);
		at += length;
	}
	row->path = row->path2 = (struct row_text){ 0 };
	return (size_t)(at - anonymizer->text);
}

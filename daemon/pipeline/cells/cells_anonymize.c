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

size_t cells_anonymized_bound(const struct row *row)
{
	size_t path = IOTR_ANONYMIZED_MAX((size_t)row->path.length + row->path2.length + CELLS_PAIR_EXTRA);

	return CELLS_ANONYMIZED_FIXED + (path < IOTR_ANONYMIZED_PATH ? path : IOTR_ANONYMIZED_PATH);
}

/* Writes the new text at `out`, and moves it on. */
static struct cell anonymize(struct cells_anonymizer *anonymizer, uint8_t privacy, struct cell cell, char **out)
{
	char *text = *out;

	if (cell.kind != CELL_TEXT)
		return cell;
	*out += iotr_anonymize(anonymizer->hashes, privacy, cell.text, cell.length, text);
	return cell_bytes(text, (size_t)(*out - text));
}

void cells_anonymize(struct cells_anonymizer *anonymizer, enum iotr_stream stream, struct cell *cell, size_t count)
{
	const struct named_columns *named = &anonymizer->named[stream];
	char *at = anonymizer->text;

	for (size_t i = 0; i < named->count && named->columns[i] < count; i++) {
		struct cell *one = &cell[named->columns[i]];

		*one = anonymize(anonymizer, named->privacies[i], *one, &at);
	}
}

struct cell cells_anonymize_one(struct cells_anonymizer *anonymizer, enum iotr_stream stream, size_t column,
				struct cell cell)
{
	const struct named_columns *named = &anonymizer->named[stream];
	char *at = anonymizer->text;

	for (size_t i = 0; i < named->count; i++)
		if (named->columns[i] == column)
			return anonymize(anonymizer, named->privacies[i], cell, &at);
	return cell;
}

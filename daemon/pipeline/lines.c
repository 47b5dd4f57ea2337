// SPDX-License-Identifier: GPL-2.0-or-later
#include "lines.h"

#include <errno.h>
#include <stdlib.h>

#include "clocks.h"
#include "format_csv.h"

struct lines {
	struct cells cells;
	struct clocks_span clock; /* of the last row */
	struct csv *csv[IOTR_STREAM_COUNT]; /* NULL: no row of the stream yet */
};

int lines_new(struct lines **ret)
{
	struct lines *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	cells_init(&lines->cells);
	*ret = lines;
	return 0;
}

void lines_free(struct lines *lines)
{
	if (!lines)
		return;
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		free(lines->csv[stream]);
	free(lines);
}

size_t lines_bound(const struct row *row)
{
	return format_csv_bound(row, false);
}

static struct csv *csv_of(struct lines *lines, enum iotr_stream stream)
{
	struct csv **csv = &lines->csv[stream];

	if (!*csv) {
		*csv = malloc(sizeof(**csv));
		if (*csv)
			format_csv_init(*csv, stream, NULL);
	}
	return *csv;
}

size_t lines_write(struct lines *lines, const struct row *row, char *out)
{
	struct csv *csv = csv_of(lines, row->record->stream);

	if (!csv)
		return 0;
	lines->cells.realtime_offset = clocks_offset(&lines->clock, row->record->start_ns);
	return format_csv_row(csv, &lines->cells, row, out);
}

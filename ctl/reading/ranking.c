// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/ranking.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reading/rows_print.h"

static const char *sorted_by; /* qsort() has no argument for it */

static struct trace_text value_of(const struct merged_row *row)
{
	struct trace_text value = rows_value(row, sorted_by);

	if (!strcmp(sorted_by, "latency"))
		value = rows_value(row, "latency_ns").length ? rows_value(row, "latency_ns") : rows_value(row, "latency_ms");
	return value;
}

static void find_number(const struct ranking *ranking, struct ranked *ranked)
{
	uint64_t number = 0;
	int64_t with_sign;
	struct trace_text value;

	sorted_by = ranking->column;
	value = value_of(ranked->row);
	ranked->has_number = true;
	if (trace_text_u64(value, &number))
		ranked->number = number;
	else if (trace_text_s64(value, &with_sign))
		ranked->number = with_sign;
	else if (trace_text_ms(value, &number))
		ranked->number = number;
	else
		ranked->has_number = false;
}

static int compare_texts(struct trace_text a, struct trace_text b)
{
	int r = memcmp(a.at, b.at, a.length < b.length ? a.length : b.length);

	if (!a.length || !b.length)
		return (!a.length) - (!b.length);
	return r ?: (a.length > b.length) - (a.length < b.length);
}

static int compare(const void *a, const void *b)
{
	const struct ranked *left = a, *right = b;
	int r = right->has_number - left->has_number;

	if (!r && left->has_number)
		r = (left->number < right->number) - (left->number > right->number);
	else if (!r)
		r = compare_texts(value_of(left->row), value_of(right->row));
	if (!r)
		r = (left->row->ns > right->row->ns) - (left->row->ns < right->row->ns);
	return r ?: (left->row->read > right->row->read) - (left->row->read < right->row->read);
}

void ranking_sort(struct ranking *ranking)
{
	sorted_by = ranking->column;
	if (ranking->count)
		qsort(ranking->rows, ranking->count, sizeof(*ranking->rows), compare);
	while (ranking->limit && ranking->count > ranking->limit) {
		struct merged_row *row = ranking->rows[--ranking->count].row;

		ranking->bytes -= row->size + sizeof(*ranking->rows);
		free(row);
	}
}

int ranking_add(struct ranking *ranking, struct merged_row *row)
{
	if (ranking->count == ranking->room) {
		size_t room = ranking->room ? 2 * ranking->room : 1024;
		void *more = reallocarray(ranking->rows, room, sizeof(*ranking->rows));

		if (!more) {
			free(row);
			return -ENOMEM;
		}
		ranking->rows = more;
		ranking->room = room;
	}
	ranking->rows[ranking->count] = (struct ranked){ .row = row };
	find_number(ranking, &ranking->rows[ranking->count++]);
	ranking->bytes += row->size + sizeof(*ranking->rows);
	/* Sorted now and then, so that it costs little a row. */
	if (ranking->limit && ranking->count >= 2 * ranking->limit + 1024)
		ranking_sort(ranking);
	return ranking->bytes > RANKING_BYTES_MAX ? -EFBIG : 0;
}

void ranking_done(struct ranking *ranking)
{
	for (size_t i = 0; i < ranking->count; i++)
		free(ranking->rows[i].row);
	free(ranking->rows);
}

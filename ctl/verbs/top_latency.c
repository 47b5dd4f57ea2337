// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/top_latency.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "output/complain.h"
#include "output/json.h"
#include "output/text.h"
#include "request/request.h"
#include "units.h"
#include "verbs/live.h"

enum { WIDTH = 80 /* where there is no screen */, LABELS = 36 /* columns before the bars */, BAR_MIN = 4 };

static uint64_t greatest(struct json_object *histogram)
{
	uint64_t most = 0;

	for (size_t i = 0; i < count_of(histogram); i++) {
		uint64_t operations = number_of(json_object_array_get_idx(histogram, i), "operations");

		most = operations > most ? operations : most;
	}
	return most;
}

/* Prints "     128ns -      256ns       1,234 ####". Each bucket that has something has a bar. */
static void print_bucket(struct json_object *bucket, uint64_t most, int room, FILE *stream)
{
	uint64_t operations = number_of(bucket, "operations");
	uint64_t length = (uint64_t)((double)operations * room / (double)(most ?: 1));
	char from[32], to[32], count[32];

	fprintf(stream, "%9s - %9s %13s ", iotr_format_duration(from, sizeof(from), number_of(bucket, "from_ns")),
		iotr_format_duration(to, sizeof(to), number_of(bucket, "to_ns")),
		format_count(count, sizeof(count), operations));
	for (uint64_t i = 0; i < (length ?: 1); i++)
		putc('#', stream);
	putc('\n', stream);
}

static void print_layer(struct json_object *all, const char *layer, const char *flow, int room, FILE *stream)
{
	struct json_object *latency = member_of(member_of(member_of(all, flow), layer), "latency");
	struct json_object *histogram = member_of(latency, "histogram");
	uint64_t most = greatest(histogram);
	char count[32], mean[32], half[32], nearly[32];

	fprintf(stream, "%s%s %s%s: ", style(stream, STYLE_BOLD), layer, flow, style(stream, STYLE_PLAIN));
	if (!latency) {
		fputs("nothing\n", stream);
		return;
	}
	fprintf(stream, "%s, mean %s, p50 <= %s, p99 <= %s\n",
		format_count(count, sizeof(count), number_of(latency, "timed")),
		iotr_format_duration(mean, sizeof(mean), number_of(latency, "mean_ns")),
		iotr_format_duration(half, sizeof(half), number_of(latency, "p50_ns")),
		iotr_format_duration(nearly, sizeof(nearly), number_of(latency, "p99_ns")));
	for (size_t i = 0; i < count_of(histogram); i++)
		print_bucket(json_object_array_get_idx(histogram, i), most, room, stream);
}

/* Those that have latencies. */
static const char *const layers[] = { "application", "cache", "filesystem", "device" };

static size_t print(struct live *live, struct json_object *reply, FILE *picture)
{
	struct json_object *all = member_of(reply, "all");
	int room = (live_width(live) ?: WIDTH) - LABELS;
	char time[32];

	room = room < BAR_MIN ? BAR_MIN : room;
	fprintf(picture, "Latencies of %s\n",
		iotr_format_duration(time, sizeof(time), number_of(reply, "duration_ns")));
	for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
		print_layer(all, layers[i], "read", room, picture);
		print_layer(all, layers[i], "write", room, picture);
	}
	return 1;
}

/* What the kernel counts is not chosen by streams or filters. */
static int refuse_others(const struct context *context, struct json_object *parameters)
{
	json_object_object_del(parameters, "latency");
	json_object_object_foreach(parameters, name, value)
	{
		(void)value;
		if (strcmp(name, "interval_ns") != 0)
			return complain_usage_of(context, name,
						 "--latency counts all I/O: of the other options it takes --interval "
						 "alone, not what sets '%s'", name);
	}
	return EXIT_DONE;
}

int top_latency(struct context *context, struct json_object *parameters)
{
	_cleanup_(connection_close) struct connection connection = CONNECTION_NONE;
	struct live live = { .context = context, .member = "all", .print = print };
	int code = refuse_others(context, parameters);

	if (code == EXIT_DONE)
		code = request_more(context, &connection, "Amplification", parameters);
	if (code != EXIT_DONE)
		return code;
	live_begin(&live, !context->json);
	code = live_follow(&live, &connection);
	live_end(&live);
	return code;
}

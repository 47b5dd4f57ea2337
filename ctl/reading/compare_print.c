// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "json_add.h"
#include "output/json.h"
#include "output/table.h"
#include "reading/compare.h"
#include "units.h"

enum { FINDING_SIZE = 160 };

/* ---- what was found ---- */

static const char *word_of(enum direction direction, const char *up, const char *down)
{
	return direction == UP ? up : direction == DOWN ? down : NULL;
}

static const char *rows_word(const struct change *change, uint64_t before, uint64_t after)
{
	return word_of(change->direction, before ? "more" : "new", after ? "fewer" : "gone");
}

static uint64_t rows_in(const struct compared_operation *operation, size_t side)
{
	return operation->of[side] ? operation->of[side]->rows : 0;
}

/* Words of what is different, for people with a mark between them. */
static void list_findings(const struct compared_operation *operation, void (*add)(void *to, const char *word), void *to)
{
	const char *words[2] = { rows_word(&operation->rows, rows_in(operation, 0), rows_in(operation, 1)),
				 word_of(operation->errors.direction, "more errors", "fewer errors") };

	for (size_t i = 0; i < 2; i++)
		if (words[i])
			add(to, words[i]);
	for (size_t i = 0; i < PERCENTILES; i++) {
		const char *word = word_of(operation->latencies[i], "slower", "faster");
		char text[32];

		snprintf(text, sizeof(text), "%s %s", shown_percentiles[i].name, word ?: "");
		if (word)
			add(to, text);
	}
}

static void list_key_findings(const struct compared_key *key, void (*add)(void *to, const char *word), void *to)
{
	const char *words[2] = { rows_word(&key->rows, key->sums[0].rows, key->sums[1].rows),
				 word_of(key->latency.direction, "slower", "faster") };

	for (size_t i = 0; i < 2; i++)
		if (words[i])
			add(to, words[i]);
}

static void add_word(void *to, const char *word)
{
	char *text = to;
	size_t used = strlen(text);

	snprintf(text + used, FINDING_SIZE - used, "%s%s", used ? ", " : "", word);
}

/* ---- for people ---- */

static void add_rate(struct table *table, uint64_t count, double seconds)
{
	double rate = (double)count / seconds;
	char text[32];

	if (!count)
		table_add(table, STYLE_PLAIN, "-");
	else if (rate < 10)
		table_add(table, STYLE_PLAIN, "%.2f", rate);
	else
		table_add(table, STYLE_PLAIN, "%s", format_count(text, sizeof(text), (uint64_t)(rate + 0.5)));
}

/* The ratio, and between which it lies. */
static void add_ratio(struct table *table, const struct change *change)
{
	if (change->known)
		table_add(table, STYLE_PLAIN, "x%.2f (%.2f-%.2f)", change->ratio, change->low, change->high);
	else
		table_add(table, STYLE_PLAIN, "-");
}

static void add_latency(struct table *table, const struct compared_operation *operation, size_t side, size_t which)
{
	char text[32];

	if (!operation->of[side] || !operation->of[side]->latencies)
		table_add(table, STYLE_PLAIN, "-");
	else
		table_add(table, STYLE_PLAIN, "%s",
			  iotr_format_duration(text, sizeof(text), operation->percentiles[side][which].value));
}

/* So few rows in one of them that nothing is known of latencies. */
static bool is_small(const struct compared_operation *operation)
{
	for (size_t side = 0; side < 2; side++)
		if (operation->of[side] && operation->of[side]->latencies && !operation->percentiles[side][0].known)
			return true;
	return false;
}

static void add_operation(struct table *table, const struct compare *compare, const struct compared_operation *operation)
{
	char found[FINDING_SIZE] = "";

	table_add(table, STYLE_PLAIN, "%s", iotr_schemas[operation->stream].flag);
	table_add(table, STYLE_PLAIN, "%s", operation->name);
	for (size_t side = 0; side < 2; side++)
		add_rate(table, rows_in(operation, side), compare->sides[side].seconds);
	add_ratio(table, &operation->rows);
	for (size_t i = 0; i < PERCENTILES; i += 2)
		for (size_t side = 0; side < 2; side++)
			add_latency(table, operation, side, i);
	list_findings(operation, add_word, found);
	if (!*found && is_small(operation))
		strcpy(found, "too few rows to tell");
	table_add(table, *found ? STYLE_BOLD : STYLE_PLAIN, "%s", *found ? found : "-");
}

static void print_operations(const struct compare *compare)
{
	struct table table = { .columns = 10, .right = 0x1fc, .indent = 2 };

	table_heads(&table, "STREAM|OPERATION|A/S|B/S|B TO A");
	for (size_t i = 0; i < PERCENTILES; i += 2)
		for (const char *side = "AB"; *side; side++)
			table_add(&table, STYLE_BOLD, "%c %s", *side, shown_percentiles[i].head);
	table_heads(&table, "IN B");
	for (size_t i = 0; i < compare->operation_count; i++)
		add_operation(&table, compare, &compare->operations[i]);
	puts("\nOperations:");
	table_print(&table, stdout);
	table_done(&table);
}

static const struct {
	const char *title, *head, *member;
} lists[SUMMARY_LISTS] = {
	[SUMMARY_FILES] = { "Files", "FILE", "files" },
	[SUMMARY_DIRECTORIES] = { "Directories", "DIRECTORY", "directories" },
	[SUMMARY_PROCESSES] = { "Commands", "COMMAND", "commands" },
	[SUMMARY_UNITS] = { "Units, containers, pods and other cgroups", "UNIT", "units" },
	[SUMMARY_DEVICES] = { "Devices", "DEVICE", "devices" },
	[SUMMARY_PEERS] = { "Peers", "PEER", "peers" },
};

/* Milliseconds that were spent on it in a second. */
static void add_busy(struct table *table, const struct compared_key *key, size_t side, double seconds)
{
	table_add(table, STYLE_PLAIN, "%.2f", (double)key->sums[side].ns / 1e6 / seconds);
}

static void add_key(struct table *table, const struct compare *compare, const struct compared_key *key)
{
	char found[FINDING_SIZE] = "";

	for (size_t side = 0; side < 2; side++)
		add_busy(table, key, side, compare->sides[side].seconds);
	for (size_t side = 0; side < 2; side++)
		add_rate(table, key->sums[side].rows, compare->sides[side].seconds);
	add_ratio(table, &key->rows);
	add_ratio(table, &key->latency);
	list_key_findings(key, add_word, found);
	table_add(table, STYLE_BOLD, "%s", found);
	table_add(table, STYLE_PLAIN, "%s", facts_layer_name(key->layer));
	table_add(table, STYLE_PLAIN, "%.*s", (int)key->length, key->key);
}

static void print_list(const struct compare *compare, enum summary_list which, size_t most)
{
	const struct compared_list *list = &compare->lists[which];
	struct table table = { .columns = 9, .right = 0x3f, .indent = 2 };

	if (!list->count)
		return;
	printf("\n%s: %zu of %zu differ%s:\n", lists[which].title, list->count, list->all,
	       list->forgotten ? "; there were too many to follow all" : "");
	table_heads(&table, "A MS/S|B MS/S|A/S|B/S|B TO A|LATENCY|IN B|STREAM");
	table_heads(&table, lists[which].head);
	for (size_t i = 0; i < list->count && i < most; i++)
		add_key(&table, compare, &list->keys[i]);
	table_print(&table, stdout);
	table_done(&table);
}

static void print_side(char letter, const struct compare_side *side)
{
	char rows[32];

	put_line(stdout, "%c: %s, session %s, %s, %s rows in %.1f s", letter, side->path, text_of(side->trace->json, "session", "?"),
		 text_of(side->trace->json, "state", "?"), format_count(rows, sizeof(rows), side->summary->rows), side->seconds);
}

/* Streams that only one of them has. */
static void print_others(const struct compare *compare)
{
	for (size_t i = 0; i < IOTR_STREAM_COUNT; i++) {
		bool a = compare->sides[0].summary->streams[i].there, b = compare->sides[1].summary->streams[i].there;

		if (a != b)
			printf("%s is in %c alone, and not compared\n", iotr_schemas[i].flag, a ? 'A' : 'B');
	}
}

/* Of each stream, so that nobody takes what is missing for fewer. */
static void print_missing(const struct compare *compare)
{
	for (size_t i = 0; i < IOTR_STREAM_COUNT; i++)
		for (size_t side = 0; side < 2; side++) {
			double missing = compare->sides[side].missing[i];
			char text[32] = "an unknown number of";

			if (missing > 0 && !isinf(missing))
				format_count(text, sizeof(text), (uint64_t)missing);
			if (missing > 0)
				printf("%s: %s rows are missing in %c, lost or removed; the interval of B TO A allows for them\n",
				       iotr_schemas[i].flag, text, "AB"[side]);
		}
}

/* What was recorded otherwise may look different for that alone. */
static bool same_definition(const struct compare *compare, const char *member)
{
	struct json_object *a = member_of(member_of(compare->sides[0].trace->json, "definition"), member);
	struct json_object *b = member_of(member_of(compare->sides[1].trace->json, "definition"), member);

	return json_object_equal(a, b);
}

static void print_definitions(const struct compare *compare)
{
	for (enum iotr_spec_filter which = 0; which < IOTR_SPEC_FILTER_COUNT; which++)
		if (!same_definition(compare, iotr_spec_filter_name(which)))
			printf("They were recorded with different filters: %s\n", iotr_spec_filter_name(which));
}

void compare_print(const struct compare *compare, size_t most)
{
	print_side('A', &compare->sides[0]);
	print_side('B', &compare->sides[1]);
	print_definitions(compare);
	print_others(compare);
	print_missing(compare);
	print_operations(compare);
	for (enum summary_list list = 0; list < SUMMARY_LISTS; list++)
		print_list(compare, list, most);
	puts("\nWhat is said to be different is so with " DIFFERENCE_CONFIDENCE_TEXT " confidence, each by itself, and by "
	     DIFFERENCE_LEAST_TEXT " at least. LATENCY is how many times as long\nrows took as in A, each against those of its "
	     "operation: the geometric mean.");
}

/* ---- JSON ---- */

static void add_double(struct json_object *object, const char *key, double number)
{
	json_object_object_add(object, key, json_object_new_double(number));
}

static void append_word(void *to, const char *word)
{
	json_object_array_add(to, json_object_new_string(word));
}

static struct json_object *ratio_object(const struct change *change)
{
	struct json_object *object;

	if (!change->known)
		return NULL;
	object = json_object_new_object();
	add_double(object, "ratio", change->ratio);
	add_double(object, "low", change->low);
	json_object_object_add(object, "high", isinf(change->high) ? NULL : json_object_new_double(change->high));
	return object;
}

static struct json_object *percentile_object(const struct percentile *percentile)
{
	struct json_object *object = json_object_new_object();

	add_u64(object, "value", percentile->value);
	json_object_object_add(object, "low", percentile->known ? json_object_new_uint64(percentile->low) : NULL);
	json_object_object_add(object, "high", percentile->known ? json_object_new_uint64(percentile->high) : NULL);
	return object;
}

static struct json_object *side_of_operation(const struct compared_operation *operation, size_t side, double seconds)
{
	const struct summary_operation *of = operation->of[side];
	struct json_object *object = json_object_new_object();
	char name[32];

	add_u64(object, "rows", of ? of->rows : 0);
	add_u64(object, "errors", of ? of->errors : 0);
	add_u64(object, "bytes", of ? summary_bytes(of) : 0);
	add_double(object, "rows_per_second", (double)(of ? of->rows : 0) / seconds);
	for (size_t i = 0; i < PERCENTILES && of && of->latencies; i++) {
		snprintf(name, sizeof(name), "%s_ns", shown_percentiles[i].name);
		json_object_object_add(object, name, percentile_object(&operation->percentiles[side][i]));
	}
	return object;
}

static struct json_object *operation_object(const struct compare *compare, const struct compared_operation *operation)
{
	struct json_object *object = json_object_new_object(), *found = json_object_new_array();

	json_object_object_add(object, "stream", json_object_new_string(iotr_schemas[operation->stream].flag));
	json_object_object_add(object, "name", json_escaped(operation->name));
	json_object_object_add(object, "a", side_of_operation(operation, 0, compare->sides[0].seconds));
	json_object_object_add(object, "b", side_of_operation(operation, 1, compare->sides[1].seconds));
	json_object_object_add(object, "rows", ratio_object(&operation->rows));
	json_object_object_add(object, "errors", ratio_object(&operation->errors));
	list_findings(operation, append_word, found);
	json_object_object_add(object, "different", found);
	return object;
}

static struct json_object *sum_object(const struct top_sum *sum)
{
	struct json_object *object = json_object_new_object();

	add_u64(object, "time_ns", sum->ns);
	add_u64(object, "rows", sum->rows);
	add_u64(object, "errors", sum->errors);
	add_u64(object, "read_bytes", sum->read);
	add_u64(object, "written_bytes", sum->written);
	return object;
}

static struct json_object *key_object(const struct compared_key *key)
{
	struct json_object *object = json_object_new_object(), *found = json_object_new_array();
	_cleanup_free_ char *name = strndup(key->key, key->length);

	json_object_object_add(object, "name", json_escaped(name ?: ""));
	json_object_object_add(object, "stream", json_object_new_string(facts_layer_name(key->layer)));
	json_object_object_add(object, "a", sum_object(&key->sums[0]));
	json_object_object_add(object, "b", sum_object(&key->sums[1]));
	json_object_object_add(object, "rows", ratio_object(&key->rows));
	json_object_object_add(object, "latency", ratio_object(&key->latency));
	list_key_findings(key, append_word, found);
	json_object_object_add(object, "different", found);
	return object;
}

/* By stream; null: nobody knows how many. */
static struct json_object *missing_object(const struct compare_side *side)
{
	struct json_object *object = json_object_new_object();

	for (size_t i = 0; i < IOTR_STREAM_COUNT; i++)
		if (side->summary->streams[i].there)
			json_object_object_add(object, iotr_schemas[i].flag,
					       isinf(side->missing[i]) ? NULL : json_object_new_uint64((uint64_t)side->missing[i]));
	return object;
}

static struct json_object *side_object(const struct compare_side *side)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "path", json_escaped(side->path));
	json_object_object_add(object, "session", json_object_get(member_of(side->trace->json, "session")));
	json_object_object_add(object, "state", json_object_get(member_of(side->trace->json, "state")));
	json_object_object_add(object, "definition", json_object_get(member_of(side->trace->json, "definition")));
	add_double(object, "seconds", side->seconds);
	add_u64(object, "rows", side->summary->rows);
	json_object_object_add(object, "missing", missing_object(side));
	return object;
}

void compare_print_json(const struct compare *compare, size_t most)
{
	_cleanup_json_ struct json_object *document = json_object_new_object();
	struct json_object *operations = json_object_new_array();

	json_object_object_add(document, "a", side_object(&compare->sides[0]));
	json_object_object_add(document, "b", side_object(&compare->sides[1]));
	add_double(document, "confidence", DIFFERENCE_CONFIDENCE);
	for (size_t i = 0; i < compare->operation_count; i++)
		json_object_array_add(operations, operation_object(compare, &compare->operations[i]));
	json_object_object_add(document, "operations", operations);
	for (enum summary_list which = 0; which < SUMMARY_LISTS; which++) {
		const struct compared_list *list = &compare->lists[which];
		struct json_object *array = json_object_new_array();

		for (size_t i = 0; i < list->count && i < most; i++)
			json_object_array_add(array, key_object(&list->keys[i]));
		json_object_object_add(document, lists[which].member, array);
	}
	print_json(document);
}

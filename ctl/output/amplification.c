// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/amplification.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "output/json.h"
#include "output/table.h"
#include "output/text.h"
#include "units.h"

enum { NAME_SIZE = 300, CONTAINER_SHORT = 12 };

static const char *const flows[] = { "read", "write" };
static const char *const layers[] = { "application", "vfs", "cache", "filesystem", "device" };

#define FLOWS  (sizeof(flows) / sizeof(flows[0]))
#define LAYERS (sizeof(layers) / sizeof(layers[0]))

/* ---- what is in a reply ---- */

static struct json_object *layer_of(struct json_object *group, const char *flow, const char *layer)
{
	return member_of(member_of(group, flow), layer);
}

/* A count of the layer; false if it is not known. */
static bool count(struct json_object *group, const char *flow, const char *layer, const char *key, uint64_t *ret)
{
	struct json_object *value = member_of(layer_of(group, flow, layer), key);

	*ret = value ? json_object_get_uint64(value) : 0;
	return value;
}

/* What stands in the first column. */
static const char *name_of(struct json_object *group, const char *by, char name[NAME_SIZE])
{
	const char *kind = text_of(group, "kind", ""), *text = text_of(group, "name", "");

	if (!strcmp(kind, "kernel"))
		snprintf(name, NAME_SIZE, "(kernel)");
	else if (!strcmp(kind, "no_room"))
		snprintf(name, NAME_SIZE, "(no room)");
	else if (!strcmp(kind, "none"))
		snprintf(name, NAME_SIZE, !strcmp(by, "system") ? "(other)" : "(none)");
	else if (member_of(group, "pid"))
		snprintf(name, NAME_SIZE, "%s %s", text_of(group, "pid", ""), text);
	else if (!strcmp(by, "container"))
		snprintf(name, NAME_SIZE, "%.*s", CONTAINER_SHORT, text);
	else
		snprintf(name, NAME_SIZE, "%s", text);
	return name;
}

/* ---- tables ---- */

static void head(struct table *table, const char *const *heads)
{
	for (size_t i = 0; i < table->columns; i++)
		table_add(table, STYLE_BOLD, "%s", heads[i]);
}

static void capitals(char *text)
{
	for (; *text; text++)
		if (*text >= 'a' && *text <= 'z')
			*text = (char)(*text - 'a' + 'A');
}

/* "2.69", ">=2.69" or "-" for one that is not known. */
static void add_factor(struct table *table, struct json_object *factor)
{
	struct json_object *value = member_of(factor, "value");

	if (value)
		table_add(table, STYLE_PLAIN, "%s%.2f",
			  json_object_get_boolean(member_of(factor, "at_least")) ? ">=" : "", json_object_get_double(value));
	else
		table_add(table, STYLE_PLAIN, "-");
}

static void add_operations(struct table *table, struct json_object *group, const char *flow, const char *layer)
{
	uint64_t number;
	char text[32];

	if (count(group, flow, layer, "operations", &number))
		table_add(table, STYLE_PLAIN, "%s", format_count(text, sizeof(text), number));
	else
		table_add(table, STYLE_PLAIN, "-");
}

static void add_summary(struct table *table, struct json_object *group, const char *name)
{
	static const char *const shown[] = { "application", "vfs", "device" };

	table_add(table, STYLE_PLAIN, "%s", name);
	for (size_t layer = 0; layer < 3; layer++)
		for (size_t flow = 0; flow < FLOWS; flow++)
			add_operations(table, group, flows[flow], shown[layer]);
	for (size_t flow = 0; flow < FLOWS; flow++)
		add_factor(table, member_of(member_of(group, flows[flow]), "by_operations"));
}

/* Bytes of a layer, and how often they are those of the application. */
static void add_layer(struct table *table, struct json_object *group, const char *flow, const char *layer)
{
	struct json_object *factor = member_of(layer_of(group, flow, layer), "factor"), *value = member_of(factor, "value");
	uint64_t bytes;
	char text[32];

	if (!count(group, flow, layer, "bytes", &bytes))
		table_add(table, STYLE_PLAIN, "-");
	else if (!value || !strcmp(layer, "application"))
		table_add(table, STYLE_PLAIN, "%s", iotr_format_size(text, sizeof(text), bytes));
	else
		table_add(table, STYLE_PLAIN, "%s%s x%.2f",
			  !strcmp(layer, "device") && json_object_get_boolean(member_of(factor, "at_least")) ? ">=" : "",
			  iotr_format_size(text, sizeof(text), bytes), json_object_get_double(value));
}

/* Why a quotient is not all there is to it. */
static void add_notes(struct table *table, struct json_object *flow)
{
	uint64_t cached = number_of(flow, "from_cache_bytes"), waiting = number_of(flow, "not_back_bytes");
	char text[32];

	if (cached)
		table_add(table, STYLE_PLAIN, "%s from the cache", iotr_format_size(text, sizeof(text), cached));
	else if (waiting)
		table_add(table, STYLE_PLAIN, "up to %s not back yet", iotr_format_size(text, sizeof(text), waiting));
	else
		table_add(table, STYLE_PLAIN, "%s", "");
}

static bool is_idle(struct json_object *group, const char *flow)
{
	uint64_t bytes, sum = 0;

	for (size_t layer = 0; layer < LAYERS; layer++) {
		count(group, flow, layers[layer], "bytes", &bytes);
		sum += bytes;
	}
	return !sum;
}

static void add_bytes(struct table *table, struct json_object *group, const char *name)
{
	for (size_t flow = 0; flow < FLOWS; flow++) {
		if (is_idle(group, flows[flow]))
			continue;
		table_add(table, STYLE_PLAIN, "%s", name);
		table_add(table, STYLE_PLAIN, "%s", flows[flow]);
		for (size_t layer = 0; layer < LAYERS; layer++)
			add_layer(table, group, flows[flow], layers[layer]);
		add_factor(table, member_of(member_of(group, flows[flow]), "by_bytes"));
		add_notes(table, member_of(group, flows[flow]));
	}
}

/* What the rows are of: of a command there is one alone, unless it is summed up by something. */
static const char *heading_of(struct json_object *reply)
{
	return member_of(reply, "command") && !member_of(reply, "groups") ? "command" : text_of(reply, "by", "system");
}

typedef void (*adder)(struct table *table, struct json_object *group, const char *name);

static void add_all(struct table *table, struct json_object *reply, adder add)
{
	struct json_object *groups = member_of(reply, "groups"), *others = member_of(reply, "others");
	struct json_object *command = member_of(reply, "command");
	const char *by = text_of(reply, "by", "system");
	char name[NAME_SIZE];

	for (size_t i = 0; i < count_of(groups); i++) {
		struct json_object *group = json_object_array_get_idx(groups, i);

		add(table, group, name_of(group, by, name));
	}
	if (others)
		add(table, others, "(more)");
	if (command) {
		add(table, command, count_of(groups) ? "(command)" : text_of(command, "name", "(command)"));
		add(table, member_of(reply, "all"), "(machine)");
	} else if (count_of(groups) != 1) {
		add(table, member_of(reply, "all"), "(all)");
	}
}

static void print_summary(struct json_object *reply, const char *by, FILE *stream)
{
	const char *const heads[] = { by,      "SYS_R", "SYS_W", "VFS_R", "VFS_W",
				      "BLK_R", "BLK_W", "R_AMP", "W_AMP" };
	struct table table = { .columns = 9, .right = 0x1fe };

	head(&table, heads);
	add_all(&table, reply, add_summary);
	table_print(&table, stream);
	table_done(&table);
}

static void print_bytes(struct json_object *reply, const char *by, FILE *stream)
{
	const char *const heads[] = { by,	    "FLOW",   "APPLICATION", "VFS", "CACHE",
				      "FILESYSTEM", "DEVICE", "AMP",	     "" };
	struct table table = { .columns = 9, .right = 0xfc };

	head(&table, heads);
	add_all(&table, reply, add_bytes);
	table_print(&table, stream);
	table_done(&table);
}

static void print_missing(struct json_object *reply, FILE *stream)
{
	struct json_object *missing = member_of(reply, "missing");

	for (size_t i = 0; i < count_of(missing); i++) {
		struct json_object *one = json_object_array_get_idx(missing, i);

		put_line(stream, "%s: %s", json_object_get_boolean(member_of(one, "inexact")) ? "Not exact" : "Not known",
			 text_of(one, "reason", "?"));
	}
	if (number_of(reply, "unfollowed"))
		put_line(stream, "Not known: what %s processes of the command did, for which there was no room",
			 text_of(reply, "unfollowed", "?"));
	if (number_of(reply, "missed"))
		put_line(stream, "Not known: what the kernel left out %s times", text_of(reply, "missed", "?"));
	if (!json_object_get_boolean(member_of(reply, "whole")))
		put_line(stream, "Not known: what there was no memory for in the daemon");
}

void print_amplification(struct json_object *reply, FILE *stream)
{
	char by[32], time[32];

	snprintf(by, sizeof(by), "%s", heading_of(reply));
	capitals(by);
	fprintf(stream, "=== I/O Amplification Summary ===\nCounted for %s, since %s\n",
		iotr_format_duration(time, sizeof(time), number_of(reply, "duration_ns")), text_of(reply, "since", "?"));
	if (!count_of(member_of(reply, "groups")) && !member_of(reply, "command")) {
		fputs("There was no I/O of files or disks.\n", stream);
		print_missing(reply, stream);
		return;
	}
	fprintf(stream, "\nBy operations: (VFS + block) / system calls\n");
	print_summary(reply, by, stream);
	fprintf(stream, "\nBy bytes: device / application; x is a layer's bytes / the application's\n");
	print_bytes(reply, by, stream);
	print_missing(reply, stream);
}

/* ---- CSV ---- */

static void put_field(FILE *stream, const char *text)
{
	bool quote = strpbrk(text, ",\"\r\n");

	if (quote)
		putc('"', stream);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', stream);
		putc(*text, stream);
	}
	if (quote)
		putc('"', stream);
}

static void put_factor(FILE *stream, struct json_object *factor)
{
	struct json_object *value = member_of(factor, "value");

	putc(',', stream);
	if (value)
		fprintf(stream, "%.4f", json_object_get_double(value));
}

/* For each of the layers one number, reads and then writes. */
static void put_counts(FILE *stream, struct json_object *group, const char *key, const char *const *of, size_t layer_count)
{
	uint64_t number;

	for (size_t layer = 0; layer < layer_count; layer++)
		for (size_t flow = 0; flow < FLOWS; flow++) {
			putc(',', stream);
			if (count(group, flows[flow], of[layer], key, &number))
				fprintf(stream, "%llu", (unsigned long long)number);
		}
}

static void put_latencies(FILE *stream, struct json_object *group, const char *layer)
{
	for (size_t flow = 0; flow < FLOWS; flow++) {
		struct json_object *latency = member_of(layer_of(group, flows[flow], layer), "latency");

		putc(',', stream);
		if (latency)
			fprintf(stream, "%.3f", (double)number_of(latency, "mean_ns") / 1000);
	}
}

static void put_total(FILE *stream, struct json_object *group)
{
	static const char *const of[] = { "application", "vfs", "device" };
	uint64_t number, total = 0;
	bool known = true;

	for (size_t layer = 0; layer < 3; layer++)
		for (size_t flow = 0; flow < FLOWS; flow++) {
			known &= count(group, flows[flow], of[layer], "operations", &number);
			total += number;
		}
	putc(',', stream);
	if (known)
		fprintf(stream, "%llu", (unsigned long long)total);
}

static void put_group(FILE *stream, struct json_object *group, const char *name)
{
	static const char *const seed[] = { "application", "vfs", "device" };

	put_field(stream, name);
	for (size_t flow = 0; flow < FLOWS; flow++)
		put_factor(stream, member_of(member_of(group, flows[flow]), "by_operations"));
	put_counts(stream, group, "operations", seed, 3);
	put_counts(stream, group, "bytes", layers, LAYERS);
	put_latencies(stream, group, "application");
	put_latencies(stream, group, "device");
	put_total(stream, group);
	for (size_t flow = 0; flow < FLOWS; flow++)
		put_factor(stream, member_of(member_of(group, flows[flow]), "by_bytes"));
	fprintf(stream, ",%llu,%llu", (unsigned long long)number_of(member_of(group, "read"), "from_cache_bytes"),
		(unsigned long long)number_of(member_of(group, "write"), "not_back_bytes"));
	put_latencies(stream, group, "cache");
	put_latencies(stream, group, "filesystem");
	putc('\n', stream);
}

void print_amplification_csv(struct json_object *reply, FILE *stream)
{
	struct json_object *groups = member_of(reply, "groups"), *others = member_of(reply, "others");
	struct json_object *command = member_of(reply, "command");
	const char *by = text_of(reply, "by", "system");
	char name[NAME_SIZE];

	fprintf(stream, "%s,read_amplification,write_amplification,syscall_reads,syscall_writes,vfs_reads,vfs_writes,"
			"block_reads,block_writes,bytes_read,bytes_written,vfs_bytes_read,vfs_bytes_written,"
			"cache_bytes_read,cache_bytes_written,filesystem_bytes_read,filesystem_bytes_written,"
			"device_bytes_read,device_bytes_written,avg_syscall_read_us,avg_syscall_write_us,"
			"avg_block_read_us,avg_block_write_us,total_operations,"
			"read_amplification_bytes,write_amplification_bytes,from_cache_bytes,not_back_bytes,"
			"avg_cache_read_us,avg_cache_write_us,avg_filesystem_read_us,avg_filesystem_write_us\n",
		heading_of(reply));
	for (size_t i = 0; i < count_of(groups); i++) {
		struct json_object *group = json_object_array_get_idx(groups, i);

		put_group(stream, group, name_of(group, by, name));
	}
	if (others)
		put_group(stream, others, "(more)");
	if (command) {
		put_group(stream, command, count_of(groups) ? "(command)" : text_of(command, "name", "(command)"));
		put_group(stream, member_of(reply, "all"), "(machine)");
	}
}

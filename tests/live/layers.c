// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts I/O by layer, without a daemon: says "ready" when its programs are loaded, answers each line on standard input with
 * one, and ends with its input. "attach" and "detach" begin and end the counting, and are repeated when that is done; what was
 * counted goes on from where it was. Any other line is answered with all accounts, in JSON.
 *
 *   iotr-layers [--verbose] [--level function|tracepoint] [--own PID]...
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/control_page.h"
#include "probes/layers.h"
#include "probes/loading.h"
#include "probes/own.h"
#include "probes/symbols.h"

static const char *const names[IOTR_LAYER_COUNT] = {
	[IOTR_LAYER_APP_READ] = "app_read",
	[IOTR_LAYER_APP_WRITE] = "app_write",
	[IOTR_LAYER_APP_SYNC] = "app_sync",
	[IOTR_LAYER_DEVICE_READ] = "device_read",
	[IOTR_LAYER_DEVICE_WRITE] = "device_write",
	[IOTR_LAYER_DEVICE_FLUSH] = "device_flush",
	[IOTR_LAYER_DEVICE_DISCARD] = "device_discard",
	[IOTR_LAYER_MAP_READ] = "map_read",
	[IOTR_LAYER_MAP_WRITE] = "map_write",
	[IOTR_LAYER_CACHE_HIT] = "cache_hit",
	[IOTR_LAYER_CACHE_MISS] = "cache_miss",
	[IOTR_LAYER_CACHE_READAHEAD] = "cache_readahead",
	[IOTR_LAYER_CACHE_FOLIOS] = "cache_folios",
	[IOTR_LAYER_LOOP_READ] = "loop_read",
	[IOTR_LAYER_LOOP_WRITE] = "loop_write",
	[IOTR_LAYER_STACKED_READ] = "stacked_read",
	[IOTR_LAYER_STACKED_WRITE] = "stacked_write",
	[IOTR_LAYER_CACHE_DIRTIED] = "cache_dirtied",
	[IOTR_LAYER_FS_READ] = "fs_read",
	[IOTR_LAYER_FS_WRITE] = "fs_write",
	[IOTR_LAYER_FS_METADATA_READ] = "fs_metadata_read",
	[IOTR_LAYER_FS_METADATA_WRITE] = "fs_metadata_write",
	[IOTR_LAYER_FS_JOURNAL_WRITE] = "fs_journal_write",
};

static const char *const kinds[] = {
	[LAYERS_OTHER] = "other",
	[LAYERS_OWN] = "own",
	[LAYERS_KERNEL] = "kernel",
	[LAYERS_PROCESS] = "process",
};

struct printing {
	const char *separator;
};

/* Prints a name as it is: those of the tests have no character that JSON would have escaped, and others are left out. */
static void text_print(const char *name, const char *text, size_t size)
{
	printf(",\"%s\":\"", name);
	for (size_t i = 0; i < size && text[i]; i++)
		putchar(text[i] < ' ' || strchr("\"\\", text[i]) ? '?' : text[i]);
	putchar('"');
}

static void latency_print(const struct layers_account *account)
{
	const char *separator = "";

	printf(",\"latency_ns\":{");
	for (size_t layer = 0; layer < IOTR_LAYER_TIMED; layer++)
		printf("%s\"%s\":%" PRIu64, layer ? "," : "", names[layer], account->latency_ns[layer]);
	printf("},\"latency\":{");
	for (size_t layer = 0; layer < IOTR_LAYER_TIMED; layer++) {
		printf("%s\"%s\":[", separator, names[layer]);
		for (size_t bucket = 0; bucket < IOTR_LAYER_BUCKETS; bucket++)
			printf("%s%" PRIu64, bucket ? "," : "", account->latency[layer][bucket]);
		putchar(']');
		separator = ",";
	}
	putchar('}');
}

static void account_print(const struct layers_account *account, void *userdata)
{
	struct printing *printing = userdata;

	printf("%s{\"index\":%u,\"kind\":\"%s\",\"stacked\":%d,\"last\":%d,\"process\":%u,\"device\":\"%u:%u\"",
	       printing->separator, account->index, kinds[account->kind], account->stacked, account->last,
	       account->key.process, account->key.device >> 20, account->key.device & 0xfffff);
	printf(",\"exited_ns\":%llu,\"cgroup_id\":%llu,\"ppid\":%u,\"uid\":%u", account->process.exited_ns,
	       account->process.cgroup_id, account->process.ppid, account->process.uid);
	text_print("command", account->process.command, sizeof(account->process.command));
	text_print("executable", account->process.executable, sizeof(account->process.executable));
	for (size_t layer = 0; layer < IOTR_LAYER_COUNT; layer++)
		printf(",\"%s\":[%llu,%llu,%llu]", names[layer], account->sums[layer].operations,
		       account->sums[layer].bytes, account->sums[layer].errors);
	latency_print(account);
	putchar('}');
	printing->separator = ",";
}

static void missing_print(const struct layers *layers)
{
	const struct layers_missing *missing;
	size_t count = layers_missing(layers, &missing);

	printf("],\"missing\":[");
	for (size_t i = 0; i < count; i++)
		printf("%s{\"hook\":\"%s\",\"layers\":%u,\"inexact\":%s,\"why\":\"%s\"}", i ? "," : "",
		       missing[i].hook, missing[i].layers, missing[i].inexact ? "true" : "false", missing[i].why);
}

static int all_print(struct layers *layers)
{
	struct printing printing = { "" };
	struct layers_statistics about;
	int r;

	printf("{\"accounts\":[");
	r = layers_read(layers, account_print, &printing);
	missing_print(layers);
	layers_statistics(layers, &about);
	printf("],\"used\":%u,\"room\":%u,\"missed\":%" PRIu64 ",\"memory\":%" PRIu64 "}\n", about.accounts,
	       about.accounts_max, about.missed, about.memory);
	fflush(stdout);
	return r;
}

static int all_attach(struct probes *probes, struct layers *layers)
{
	int r;

	if (probes_attach(probes, PROBES_DIRTIED) < 0)
		fprintf(stderr, "iotr-layers: nobody notes who makes pages dirty\n");
	r = layers_attach(layers);
	if (r < 0)
		fprintf(stderr, "iotr-layers: nothing can be attached: %s\n", strerror(-r));
	return r;
}

static int answer(struct probes *probes, struct layers *layers, const char *line)
{
	int r = 0;

	if (!strcmp(line, "attach\n")) {
		r = all_attach(probes, layers);
	} else if (!strcmp(line, "detach\n")) {
		layers_detach(layers);
		probes_detach(probes, PROBES_DIRTIED);
	} else {
		return all_print(layers);
	}
	fputs(line, stdout);
	fflush(stdout);
	return r;
}

static int count(struct probes *probes)
{
	struct layers *layers;
	char line[16], why[256];
	int r = layers_load(probes, &layers, why, sizeof(why));

	if (r < 0) {
		fprintf(stderr, "iotr-layers: %s\n", why);
		return r;
	}
	puts("ready");
	fflush(stdout);
	while (r >= 0 && fgets(line, sizeof(line), stdin))
		r = answer(probes, layers, line);
	layers_free(layers);
	return r;
}

static int libbpf_print(enum libbpf_print_level level, const char *format, va_list arguments)
{
	return level == LIBBPF_DEBUG ? 0 : vfprintf(stderr, format, arguments);
}

int main(int count_of_arguments, char **arguments)
{
	enum probes_level level = PROBES_AUTO;
	const char *flags[32];
	struct probes *probes;
	struct probes_config config = { .symbols = symbols_open(), .bequest = -1, .hooks = -1 };
	bool verbose = false;
	char why[256];
	int r;

	if (count_of_arguments > 1 && !strcmp(arguments[1], "--verbose")) {
		verbose = true;
		arguments++;
		count_of_arguments--;
	}
	if (count_of_arguments > 2 && !strcmp(arguments[1], "--level")) {
		level = !strcmp(arguments[2], "function") ? PROBES_FUNCTION : PROBES_TRACEPOINT;
		arguments += 2;
	}
	config.level = level;
	r = probes_new(&config, &probes, why, sizeof(why));
	if (r < 0) {
		fprintf(stderr, "iotr-layers: %s\n", why);
		return 1;
	}
	if (verbose)
		libbpf_set_print(libbpf_print);
	control_page_block(probes, flags);
	loading_now(probes, 1U << PROBES_DIRTIED);
	own_add(probes, getpid());
	for (arguments++; arguments[0] && arguments[1] && !strcmp(arguments[0], "--own"); arguments += 2)
		own_add(probes, atoi(arguments[1]));
	r = count(probes);
	probes_free(probes);
	return r < 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel of a whole daemon that runs on the fake probe set: rows of all operations come by themselves, but for
 * what the variable FAKE_KERNEL of its environment says, words with a blank between them:
 *
 *   hookless=STREAM.OPERATION  there is no hook for it; without an operation, for none of the stream
 *   silent=STREAM.OPERATION    its hook gives no row
 *   undirtied                  it does not tell who makes pages dirty
 *   loses=N                    for one row of N there is no room in the rings
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "fake_probes.h"
#include "fake_ring.h"
#include "schema.h"

#define INTERVAL_NS 10000000

static void refuse(const char *word)
{
	fprintf(stderr, "FAKE_KERNEL: %s means nothing\n", word);
	exit(EXIT_FAILURE);
}

/* Adds what a word names after its '='. */
static void take_operations(const char *word, struct iotr_operations operations[IOTR_STREAM_COUNT])
{
	_cleanup_free_ char *flag = strdup(strchr(word, '=') + 1);
	char *name = strchr(flag, '.');
	int stream, operation;

	if (name)
		*name++ = '\0';
	stream = iotr_stream_find(flag);
	operation = stream >= 0 && name ? iotr_operation_find(stream, name) : 0;
	if (stream < 0 || operation < 0)
		refuse(word);
	for (size_t i = 0; i < iotr_schemas[stream].operation_count; i++)
		if (!name || i == (size_t)operation)
			iotr_operations_add(&operations[stream], i);
}

static const struct dirtier_lack undirtied = { "writeback_dirty_folio", "who made pages dirty is not known" };

static void take_word(const char *word)
{
	if (!strncmp(word, "hookless=", 9))
		take_operations(word, fake_probes.hookless);
	else if (!strncmp(word, "silent=", 7))
		take_operations(word, fake_ring.silent);
	else if (!strcmp(word, "undirtied"))
		fake_probes.lack = &undirtied;
	else if (sscanf(word, "loses=%u", &fake_ring.loses) != 1)
		refuse(word);
}

__attribute__((constructor)) static void begin(void)
{
	_cleanup_free_ char *words = strdup(getenv("FAKE_KERNEL") ?: "");
	char *rest = words, *word;

	fake_ring.interval_ns = INTERVAL_NS;
	while ((word = strsep(&rest, " ")))
		if (*word)
			take_word(word);
}

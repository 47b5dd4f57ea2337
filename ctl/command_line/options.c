// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The command line. getopt_long() is not used: it accepts the beginning of an option's name, so that a typing
 * error may do what nobody asked for, and it cannot suggest a similar option.
 */
#include "command_line/options.h"

#include <stdio.h>
#include <string.h>

#include "command_line/option_values.h"
#include "nearest.h"
#include "output/complain.h"

enum { NAME_MAX_BYTES = 64 };

static const struct option_row global_rows[] = {
	{ .name = "socket",
	  .kind = OPTION_SOCKET,
	  .value = "PATH",
	  .help = "control socket of the daemon" },
	{ .name = "json", .kind = OPTION_JSON, .help = "print one JSON document" },
	{ .name = "help", .kind = OPTION_HELP, .help = "show this" },
};

const struct option_group global_options = OPTION_GROUP("Global options", global_rows);

/* Calls `body` for each row of the global options and of the groups. */
#define FOR_EACH_ROW(row, groups_)                                                                 \
	for (const struct option_group *const *_at = (groups_), *_group = &global_options; _group; \
	     _group = _at ? *_at++ : NULL)                                                         \
		for (const struct option_row *row = _group->rows;                                  \
		     row < _group->rows + _group->count; row++)

static const struct option_row *find_row(const struct option_group *const *groups, const char *name)
{
	FOR_EACH_ROW (row, groups)
		if (!strcmp(row->name, name))
			return row;
	return NULL;
}

const struct option_row *options_find(const struct option_group *const *groups,
				      const char *parameter)
{
	FOR_EACH_ROW (row, groups)
		if (row->parameter && row->kind != OPTION_STREAM && row->kind != OPTION_STREAMS &&
		    !strcmp(row->parameter, parameter))
			return row;
	return NULL;
}

/* Whether the option's value may be omitted. */
static bool is_optional(const struct option_row *row)
{
	return row->kind == OPTION_INTERVAL || row->kind == OPTION_KEY || row->kind == OPTION_SETTLE;
}

char *options_describe(const struct option_row *row, char *text, size_t size)
{
	bool optional = is_optional(row);

	snprintf(text, size, "--%s%s%s%s", row->name, optional ? "[=" : row->value ? " " : "",
		 row->value ?: "", optional ? "]" : "");
	return text;
}

/* Writes the verbs that have the option, as in "start and record"; "" if none has it. */
static void name_owners(const struct verb *const *verbs, char *text, size_t size, const char *name)
{
	size_t at = 0;

	*text = '\0';
	for (; *verbs && at < size; verbs++)
		if (find_row((*verbs)->options, name))
			at += (size_t)snprintf(text + at, size - at, "%s'%s'", at ? ", " : "", (*verbs)->name);
}

static int refuse_unknown(const struct context *context, const struct option_group *const *groups,
			  const char *dashes, const char *name)
{
	struct iotr_nearest nearest = { .word = name };
	char owners[256];

	FOR_EACH_ROW (row, groups)
		iotr_nearest_try(&nearest, row->name);
	name_owners(context->verbs, owners, sizeof(owners), name);
	if (*owners)
		return complain_usage_of(context, name, "there is no option '%s%s' here: %s %s it",
					 dashes, name, owners, strchr(owners, ',') ? "have" : "has");
	if (nearest.best && !strncmp(nearest.best, name, strlen(name)))
		return complain_usage_of(context, name,
					 "there is no option '%s%s': did you mean '--%s'? "
					 "Options are written in full",
					 dashes, name, nearest.best);
	if (nearest.best)
		return complain_usage_of(context, name,
					 "there is no option '%s%s': did you mean '--%s'?", dashes,
					 name, nearest.best);
	return complain_usage_of(context, name, "there is no option '%s%s'", dashes, name);
}

struct words {
	int count;
	char **at;
};

/* `word` is an option; if it needs a value, that may be the next word, which is removed then. */
static int take_option(struct context *context, const struct option_group *const *groups,
		       const char *word, struct words *next, struct json_object *parameters)
{
	bool long_one = word[1] == '-';
	const char *dashes = long_one ? "--" : "-", *value;
	const struct option_row *row;
	char name[NAME_MAX_BYTES], usage[128];

	word += strlen(dashes);
	value = long_one ? strchr(word, '=') : NULL;
	snprintf(name, sizeof(name), "%.*s", value ? (int)(value - word) : (int)strlen(word), word);
	row = find_row(groups, long_one ? name : !strcmp(name, "h") ? "help" :
				 !strcmp(name, "o") ? "output" : "");
	if (!row)
		return refuse_unknown(context, groups, dashes, name);
	if (value && !row->value)
		return complain_usage_of(context, row->name, "--%s takes no value", row->name);
	if (value) {
		value++;
	} else if (row->value && !is_optional(row)) {
		if (!next->count)
			return complain_usage_of(context, row->name, "--%s needs a value: %s", row->name,
						 options_describe(row, usage, sizeof(usage)));
		value = *next->at++;
		next->count--;
	}
	return option_take(context, row, value, parameters);
}

int options_parse(struct context *context, const struct option_group *const *groups,
		  bool stop_at_argument, int *count, char **words, struct json_object *parameters)
{
	struct words next = { *count, words };
	int kept = 0, r = EXIT_DONE;

	while (next.count && r == EXIT_DONE) {
		char *word = *next.at;
		bool is_option = word[0] == '-' && word[1];

		if (!is_option && stop_at_argument)
			break;
		next.at++, next.count--;
		if (!strcmp(word, "--"))
			break;
		if (is_option)
			r = take_option(context, groups, word, &next, parameters);
		else
			words[kept++] = word;
	}
	memmove(words + kept, next.at, ((size_t)next.count + 1) * sizeof(*words));
	*count = kept + next.count;
	return r;
}

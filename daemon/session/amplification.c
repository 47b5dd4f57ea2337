// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/amplification.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cleanup.h"
#include "session/counting.h"

struct engine_amplification {
	struct counting_watch *watch;
	struct group_wish wish;
	char **systems; /* NULL: all; otherwise NULL ends them */
	size_t count;
	engine_begun_handler begun;
	void *userdata;
};

DEFINE_CLEANUP(struct engine_amplification *, amplification_free);

/* Whether there is a system of that name, built in or configured. */
static bool exists(const struct system_rules *rules, const char *system)
{
	const char *name;

	for (size_t i = 0; (name = system_built_in(i)); i++)
		if (!strcasecmp(name, system))
			return true;
	for (size_t i = 0; rules && i < rules->count; i++)
		if (!strcasecmp(rules->rules[i].system, system))
			return true;
	return false;
}

/* All there are, for who has given another one. */
static void list(const struct system_rules *rules, char *text, size_t size)
{
	const char *name;

	*text = '\0';
	for (size_t i = 0; (name = system_built_in(i)); i++)
		snprintf(text + strlen(text), size - strlen(text), "%s%s", i ? ", " : "", name);
	for (size_t i = 0; rules && i < rules->count; i++)
		if (!i || strcmp(rules->rules[i].system, rules->rules[i - 1].system) != 0)
			snprintf(text + strlen(text), size - strlen(text), ", %s", rules->rules[i].system);
}

static int take_systems(struct engine_amplification *amplification, const struct engine_amplification_wish *wish,
			const struct system_rules *rules, struct engine_error *error)
{
	static const char text[] = "unknown system; these are known: ";
	char names[sizeof(error->message) - sizeof(text)];

	if (!wish->systems)
		return 0;
	amplification->systems = calloc(wish->system_count + 1, sizeof(char *));
	if (!amplification->systems)
		return -ENOMEM;
	for (size_t i = 0; i < wish->system_count; i++) {
		if (!exists(rules, wish->systems[i])) {
			list(rules, names, sizeof(names));
			snprintf(error->message, sizeof(error->message), "%s%s", text, names);
			return engine_fail(error, -EINVAL, "systems", NULL);
		}
		amplification->systems[i] = strdup(wish->systems[i]);
		if (!amplification->systems[i])
			return -ENOMEM;
	}
	amplification->wish.systems = (const char *const *)amplification->systems;
	amplification->wish.system_count = wish->system_count;
	return 0;
}

static void on_begun(const struct engine_error *error, void *userdata)
{
	const struct engine_amplification *amplification = userdata;

	amplification->begun(error, amplification->userdata);
}

int amplification_new(struct session_context *context, const struct engine_amplification_wish *wish,
		      engine_begun_handler begun, void *userdata, struct engine_amplification **ret,
		      struct engine_error *error)
{
	_cleanup_(amplification_freep) struct engine_amplification *amplification = calloc(1, sizeof(*amplification));
	const struct counting_wish counting = { .since_start = wish->since_start, .process = wish->pid };
	int by = group_by_find(wish->by), r;

	if (!amplification)
		return -ENOMEM;
	if (by < 0)
		return engine_fail(error, -EINVAL, "by", "it is one of system, process, unit, container and device");
	amplification->wish.by = by;
	amplification->wish.sys = "/sys";
	amplification->count = wish->count;
	amplification->begun = begun;
	amplification->userdata = userdata;
	r = take_systems(amplification, wish, context->config.systems, error);
	if (r < 0)
		return r;
	*ret = amplification; /* it may be looked at before the return */
	r = counting_watch_new(context->counting, &counting, on_begun, amplification, &amplification->watch);
	if (r < 0) {
		*ret = NULL;
		return r;
	}
	TAKE(amplification);
	return 0;
}

int amplification_look(struct engine_amplification *amplification, struct json_object **ret)
{
	return counting_look(amplification->watch, &amplification->wish, amplification->count, ret);
}

void amplification_free(struct engine_amplification *amplification)
{
	if (!amplification)
		return;
	counting_watch_free(amplification->watch);
	for (char **system = amplification->systems; system && *system; system++)
		free(*system);
	free(amplification->systems);
	free(amplification);
}

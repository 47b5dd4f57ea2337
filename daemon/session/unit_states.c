// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/unit_states.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "cleanup.h"

#define SYSTEMD	      "org.freedesktop.systemd1"
#define UNITS	      "/org/freedesktop/systemd1/unit"
#define UNIT	      SYSTEMD ".Unit"
#define PROPERTIES    "org.freedesktop.DBus.Properties"
#define ANSWERS_US    5000000 /* an answer that takes longer is asked for again */

enum { SEEN_MAX = 6 }; /* states that exist */

struct unit {
	struct unit *next;
	struct unit_states *states;
	char *name, *path;
	sd_bus_slot *changes, *answer;
	char now[16]; /* "": not known */
	char seen[SEEN_MAX][16]; /* since the last look */
	size_t seen_count;
	bool wanted; /* somebody has looked since unit_states_next() */
};

struct unit_states {
	sd_event *event;
	sd_bus *bus; /* NULL: there is no connection */
	int error;   /* why there is none */
	struct unit *units;
};

int unit_states_new(sd_event *event, struct unit_states **ret)
{
	struct unit_states *states = calloc(1, sizeof(*states));

	if (!states)
		return -ENOMEM;
	states->event = event;
	*ret = states;
	return 0;
}

static void unit_free(struct unit *unit)
{
	sd_bus_slot_unref(unit->changes);
	sd_bus_slot_unref(unit->answer);
	free(unit->name);
	free(unit->path);
	free(unit);
}

static void disconnect(struct unit_states *states)
{
	struct unit *unit;

	while ((unit = states->units)) {
		states->units = unit->next;
		unit_free(unit);
	}
	sd_bus_close_unref(TAKE(states->bus));
}

void unit_states_free(struct unit_states *states)
{
	if (states)
		disconnect(states);
	free(states);
}

/* ---- what systemd tells ---- */

static void state_note(struct unit *unit, const char *state)
{
	snprintf(unit->now, sizeof(unit->now), "%s", state);
	for (size_t i = 0; i < unit->seen_count; i++)
		if (!strcmp(unit->seen[i], unit->now))
			return;
	if (unit->seen_count < SEEN_MAX)
		strcpy(unit->seen[unit->seen_count++], unit->now);
}

/* A change of properties: an interface, and their names and values. */
static int on_change(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	const char *interface, *property, *state;

	(void)error;
	if (sd_bus_message_read(message, "s", &interface) < 0 || strcmp(interface, UNIT) != 0 ||
	    sd_bus_message_enter_container(message, 'a', "{sv}") < 0)
		return 0;
	while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
		if (sd_bus_message_read(message, "s", &property) < 0)
			return 0;
		if (strcmp(property, "ActiveState"))
			sd_bus_message_skip(message, "v");
		else if (sd_bus_message_read(message, "v", "s", &state) >= 0)
			state_note(userdata, state);
		sd_bus_message_exit_container(message);
	}
	return 0;
}

static int on_answer(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct unit *unit = userdata;
	const char *state;

	(void)error;
	if (!sd_bus_message_is_method_error(message, NULL) && sd_bus_message_read(message, "v", "s", &state) >= 0)
		state_note(unit, state);
	unit->answer = sd_bus_slot_unref(unit->answer);
	return 0;
}

/* ---- asking ---- */

/* systemd's own socket for root, where the machine has no bus. */
static int open_private(sd_bus **ret)
{
	_cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
	int r = sd_bus_new(&bus);

	if (r >= 0)
		r = sd_bus_set_address(bus, "unix:path=/run/systemd/private");
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r >= 0)
		*ret = TAKE(bus);
	return r;
}

/* systemd tells of changes only to those that have asked it to. */
static int connect_bus(struct unit_states *states)
{
	int r = sd_bus_open_system(&states->bus);

	if (r < 0)
		r = open_private(&states->bus);
	if (r >= 0)
		r = sd_bus_attach_event(states->bus, states->event, 0);
	if (r >= 0)
		r = sd_bus_call_method_async(states->bus, NULL, SYSTEMD, "/org/freedesktop/systemd1", SYSTEMD ".Manager",
					     "Subscribe", NULL, NULL, "");
	if (r < 0)
		disconnect(states);
	return r;
}

static int unit_watch(struct unit_states *states, const char *name, struct unit **ret)
{
	struct unit *unit = calloc(1, sizeof(*unit));
	int r = -ENOMEM;

	if (!unit)
		return r;
	unit->states = states;
	unit->name = strdup(name);
	if (unit->name)
		r = sd_bus_path_encode(UNITS, name, &unit->path);
	if (r >= 0)
		r = sd_bus_match_signal_async(states->bus, &unit->changes, SYSTEMD, unit->path, PROPERTIES, "PropertiesChanged",
					      on_change, NULL, unit);
	if (r < 0) {
		unit_free(unit);
		return r;
	}
	unit->next = states->units;
	states->units = *ret = unit;
	return 0;
}

/* Asks for the state anew, in case that systemd itself was started anew and tells of no changes. */
static void unit_ask(struct unit *unit)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;

	if (unit->answer)
		return;
	if (sd_bus_message_new_method_call(unit->states->bus, &message, SYSTEMD, unit->path, PROPERTIES, "Get") >= 0 &&
	    sd_bus_message_append(message, "ss", UNIT, "ActiveState") >= 0)
		sd_bus_call_async(unit->states->bus, &unit->answer, message, on_answer, unit, ANSWERS_US);
}

static struct unit *unit_of(struct unit_states *states, const char *name)
{
	struct unit *unit = states->units;

	while (unit && strcmp(unit->name, name) != 0)
		unit = unit->next;
	if (!unit)
		states->error = unit_watch(states, name, &unit);
	return unit;
}

bool unit_states_has(struct unit_states *states, const char *name, const char *state, char *why, size_t size)
{
	struct unit *unit;

	if (states->bus && sd_bus_is_open(states->bus) <= 0)
		disconnect(states);
	states->error = states->bus ? 0 : connect_bus(states);
	unit = states->bus ? unit_of(states, name) : NULL;
	*why = '\0';
	if (!unit) {
		snprintf(why, size, "the system bus tells nothing of units: %s", strerror(-states->error));
		return false;
	}
	if (!unit->wanted)
		unit_ask(unit);
	unit->wanted = true;
	for (size_t i = 0; i < unit->seen_count; i++)
		if (!strcmp(unit->seen[i], state))
			return true;
	return !strcmp(unit->now, state);
}

void unit_states_next(struct unit_states *states)
{
	for (struct unit **at = &states->units, *unit; (unit = *at);) {
		if (!unit->wanted) {
			*at = unit->next;
			unit_free(unit);
			continue;
		}
		unit->wanted = false;
		unit->seen_count = 0;
		at = &unit->next;
	}
	if (!states->units)
		disconnect(states);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "request/unit_names.h"

#include <stdio.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "cleanup.h"
#include "output/json.h"

#define PATIENCE_USEC 1000000

/* Gets the reply to ListUnitsByNames: the state of each unit, whether it is installed or not. */
static int ask(sd_bus *bus, struct json_object *units, sd_bus_message **reply)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
	int r = sd_bus_message_new_method_call(bus, &call, "org.freedesktop.systemd1",
					       "/org/freedesktop/systemd1",
					       "org.freedesktop.systemd1.Manager", "ListUnitsByNames");

	if (r >= 0)
		r = sd_bus_message_open_container(call, 'a', "s");
	for (size_t i = 0; i < count_of(units) && r >= 0; i++)
		r = sd_bus_message_append(call, "s",
					  json_object_get_string(json_object_array_get_idx(units, i)));
	if (r >= 0)
		r = sd_bus_message_close_container(call);
	return r < 0 ? r : sd_bus_call(bus, call, PATIENCE_USEC, NULL, reply);
}

static void warn(struct json_object *reply, const char *unit)
{
	struct json_object *warnings = member_of(reply, "warnings");
	char sentence[512];

	snprintf(sentence, sizeof(sentence),
		 "systemd knows no unit %s: there are no rows until it is installed and started", unit);
	if (json_object_is_type(warnings, json_type_array))
		json_object_array_add(warnings, json_object_new_string(sentence));
}

void unit_names_check(struct json_object *reply)
{
	_cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
	struct json_object *session = member_of(reply, "session");
	struct json_object *units = member_of(member_of(session, "filters"), "units");
	const char *name, *state;

	if (!count_of(units) || json_object_get_boolean(member_of(session, "anonymize")) ||
	    sd_bus_open_system(&bus) < 0 || ask(bus, units, &answer) < 0 ||
	    sd_bus_message_enter_container(answer, 'a', "(ssssssouso)") < 0)
		return;
	/* name, description, load state, and so on */
	while (sd_bus_message_read(answer, "(ssssssouso)", &name, NULL, &state, NULL, NULL, NULL, NULL,
				   NULL, NULL, NULL) > 0)
		if (!strcmp(state, "not-found"))
			warn(reply, name);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fired.h"

#include <errno.h>
#include <string.h>

#include "log.h"

static void dump(struct session *session, struct engine_dump **all)
{
	struct engine_error error = { 0 };
	struct engine_dump *dump;
	int r = dump_new(session, all, 0, "", &session->owner, NULL, NULL, &dump, &error);

	if (r == -EBUSY)
		log_info("session %s: a dump of it is being written already, which will do", session->spec.name);
	else if (r < 0)
		log_message(ABOUT(DUMP_FAILED, .session = session->spec.name, .error = -r), "dump of session %s failed: %s",
			    session->spec.name, *error.message ? error.message : strerror(-r));
}

void fired(struct session *session, const struct iotr_trigger *trigger, const char *value, bool stops, void *userdata)
{
	bool waits = session->waiting;

	log_message(ABOUT(TRIGGERED, .session = session->spec.name, .trigger = trigger->text, .value = value),
		    "session %s %s, as a trigger holds: %s (%s)", session->spec.name,
		    stops ? "ends" : waits ? "begins to record" : "is dumped", trigger->text, value);
	session_tell_triggers(session);
	if (stops)
		session_end(session, SESSION_TRIGGERED);
	else if (waits)
		session_go(session);
	else
		dump(session, userdata);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Sessions whose names are hashed: the key, and what their status may disclose. */
#include <errno.h>
#include <string.h>

#include "anonymize_manifest.h"
#include "cleanup.h"
#include "engine_internal.h"
#include "log.h"

/*
 * Makes the host's key at the daemon's first start, so that it exists even for traces that were recorded in
 * the clear and are to be anonymised later.
 */
void anonymize_prepare(const char *state_dir)
{
	uint8_t key[IOTR_ANONYMIZE_KEY_SIZE];
	char message[512];

	if (iotr_anonymize_key_ensure(state_dir, key, message, sizeof(message)) < 0)
		log_warning("no session can be anonymised: %s", message);
	explicit_bzero(key, sizeof(key));
}

int session_anonymize(struct session *session, struct engine_error *error)
{
	if (!session->spec.anonymize)
		return 0;
	if (iotr_anonymizer_new(session->anonymize_key, &session->anonymizer) < 0)
		return engine_fail(error, -ENOMEM, "", "out of memory");
	return 0;
}

void session_anonymize_done(struct session *session)
{
	iotr_anonymizer_free(session->anonymizer);
	explicit_bzero(session->anonymize_key, sizeof(session->anonymize_key));
}

/*
 * Hides the names in the filters, which the rows hide, too. The session's name and folder stay readable, as
 * users need them to address it.
 */
struct json_object *anonymize_filters(const struct session *session, struct json_object *filters)
{
	_cleanup_json_ struct json_object *clear = filters;
	struct json_object *shown = NULL;

	if (!session->spec.anonymize)
		return TAKE(clear);
	if (!session->anonymizer) /* the key is still being read, and no name may be disclosed */
		return json_object_new_object();
	iotr_anonymize_json(session->anonymizer, clear, "definition.filters", &shown);
	return shown;
}

/* Hides the paths in the entries: they name those that hang or are missing. */
struct json_object *anonymize_snapshots(const struct session *session, struct json_object *status)
{
	struct json_object *shown;

	if (!session->anonymizer)
		return status;
	json_object_object_foreach(status, kind, entry) {
		shown = NULL;
		iotr_anonymize_json(session->anonymizer, entry, "snapshots", &shown);
		json_object_object_add(status, kind, shown);
	}
	return status;
}

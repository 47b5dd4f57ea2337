// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/anonymity.h"

#include <errno.h>
#include <string.h>

#include "anonymize_key.h"
#include "anonymize_manifest.h"
#include "cleanup.h"
#include "log.h"
#include "session/session.h"

/*
 * Makes the host's key at the daemon's first start, so that it exists even for traces that were recorded in
 * the clear and are to be anonymised later.
 */
void anonymize_prepare(const char *state_dir)
{
	uint8_t key[IOTR_ANONYMIZE_KEY_SIZE];
	char message[512];

	if (iotr_anonymize_key_ensure(state_dir, key, message, sizeof(message)) < 0)
		log_warning("nothing can be anonymised with the key of this host: %s", message);
	explicit_bzero(key, sizeof(key));
}

int anonymize_begin(struct session *session, struct engine_error *error)
{
	if (!session->spec.anonymize)
		return 0;
	if (iotr_anonymizer_new(session->anonymize_key, &session->anonymizer) < 0)
		return engine_fail(error, -ENOMEM, "", "out of memory");
	return 0;
}

void anonymize_end(struct session *session)
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

struct json_object *anonymize_in_flight(const struct session *session, struct json_object *in_flight)
{
	struct json_object *shown = NULL;

	if (!session->anonymizer)
		return json_object_get(in_flight);
	iotr_anonymize_json(session->anonymizer, in_flight, "in_flight", &shown);
	return shown;
}

/* Hides the paths in an entry: it names those that hang or are missing. */
static struct json_object *hide(const struct session *session, struct json_object *entry)
{
	struct json_object *shown = NULL;

	iotr_anonymize_json(session->anonymizer, entry, "snapshots", &shown);
	return shown;
}

struct json_object *anonymize_snapshots(const struct session *session, struct json_object *snapshots)
{
	_cleanup_json_ struct json_object *clear = snapshots;
	struct json_object *shown;

	if (!session->anonymizer)
		return TAKE(clear);
	shown = json_object_new_object();
	json_object_object_foreach(clear, kind, entry)
		json_object_object_add(shown, kind, hide(session, entry));
	return shown;
}

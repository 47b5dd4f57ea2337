// SPDX-License-Identifier: GPL-2.0-or-later
#include "gathering.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "cleanup.h"
#include "json_add.h"
#include "reply.h"
#include "session_spec.h"

struct gathering {
	struct call *call; /* NULL: the client has disconnected */
	const char *key;
	bool several;
	struct json_object *results, *failed;
	size_t open_requests; /* plus one while requests are being made */
	int error;	      /* of their making */
};

struct gathered {
	struct gathering *gathering;
	char session[IOTR_SESSION_NAME_MAX + 1];
};

static void gathering_free(struct gathering *gathering)
{
	json_object_put(gathering->results);
	json_object_put(gathering->failed);
	free(gathering);
}

/* The call has ended: results of requests that are still open are dropped. */
static void gathering_forget(void *state)
{
	struct gathering *gathering = state;

	gathering->call = NULL;
	if (!gathering->open_requests)
		gathering_free(gathering);
}

struct gathering *gathering_new(struct call *call, const char *key, bool several)
{
	struct gathering *gathering = calloc(1, sizeof(*gathering));

	if (!gathering)
		return NULL;
	*gathering = (struct gathering){
		.call = call,
		.key = key,
		.several = several,
		.results = json_object_new_array(),
		.failed = json_object_new_array(),
		.open_requests = 1,
	};
	call_keep(call, gathering, gathering_forget);
	return gathering;
}

struct gathered *gathering_begin(struct gathering *gathering, const char *session)
{
	struct gathered *gathered = calloc(1, sizeof(*gathered));

	if (!gathered)
		return NULL;
	gathered->gathering = gathering;
	snprintf(gathered->session, sizeof(gathered->session), "%s", session);
	gathering->open_requests++;
	return gathered;
}

void gathered_add(struct gathered *gathered, struct json_object *result)
{
	json_object_array_add(gathered->gathering->results, result);
}

static void reply(struct gathering *gathering)
{
	struct json_object *parameters, *failed = json_object_array_get_idx(gathering->failed, 0);

	if (gathering->error) {
		call_failed(gathering->call, "%s failed: %s", strrchr(gathering->call->method, '.') + 1,
			    strerror(-gathering->error));
		return;
	}
	if (failed && !gathering->several) {
		call_failed(gathering->call, "session %s: %s", json_object_get_string(json_object_object_get(failed, "name")),
			    json_object_get_string(json_object_object_get(failed, "reason")));
		return;
	}
	parameters = json_object_new_object();
	json_object_object_add(parameters, gathering->key, TAKE(gathering->results));
	json_object_object_add(parameters, "failed", TAKE(gathering->failed));
	call_reply(gathering->call, parameters);
}

static void request_ended(struct gathering *gathering)
{
	if (--gathering->open_requests)
		return;
	if (gathering->call)
		reply(gathering); /* and gathering_forget() frees it */
	else
		gathering_free(gathering);
}

void gathered_end(struct gathered *gathered, int result)
{
	struct gathering *gathering = gathered->gathering;

	if (result < 0) {
		struct json_object *failed = json_object_new_object();

		add_string(failed, "name", gathered->session);
		add_string(failed, "reason", strerror(-result));
		json_object_array_add(gathering->failed, failed);
	}
	free(gathered);
	request_ended(gathering);
}

void gathering_end(struct gathering *gathering, int result)
{
	if (result < 0)
		gathering->error = result;
	request_ended(gathering);
}

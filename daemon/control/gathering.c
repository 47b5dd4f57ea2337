// SPDX-License-Identifier: GPL-2.0-or-later
#include "gathering.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "cleanup.h"
#include "reply.h"

struct gathering {
	struct call *call; /* NULL: the client has disconnected */
	const char *key;
	struct json_object *results;
	size_t open_requests; /* plus one while requests are being made */
	int error;	/* the first error */
};

static void gathering_free(struct gathering *gathering)
{
	json_object_put(gathering->results);
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

struct gathering *gathering_new(struct call *call, const char *key)
{
	struct gathering *gathering = calloc(1, sizeof(*gathering));

	if (!gathering)
		return NULL;
	*gathering = (struct gathering){
		.call = call, .key = key, .results = json_object_new_array(), .open_requests = 1
	};
	call_keep(call, gathering, gathering_forget);
	return gathering;
}

void gathering_begin(struct gathering *gathering)
{
	gathering->open_requests++;
}

void gathering_add(struct gathering *gathering, struct json_object *result)
{
	json_object_array_add(gathering->results, result);
}

void gathering_end(struct gathering *gathering, int result)
{
	if (result < 0 && !gathering->error)
		gathering->error = result;
	if (--gathering->open_requests)
		return;
	if (!gathering->call)
		gathering_free(gathering);
	else if (gathering->error)
		call_failed(gathering->call, "%s failed: %s",
			    strrchr(gathering->call->method, '.') + 1, strerror(-gathering->error));
	else
		reply_value(gathering->call, gathering->key, TAKE(gathering->results));
}

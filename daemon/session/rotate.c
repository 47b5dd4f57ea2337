// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rotate.h"

#include <errno.h>
#include <stdlib.h>

#include "session/counts.h"
#include "session/file_sink.h"

struct rotation {
	engine_handler handler;
	void *userdata;
};

static void on_rotated(int result, const struct writer_paths *paths, void *userdata)
{
	struct rotation *rotation = userdata;
	struct json_object *closed = json_object_new_array();

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (paths->paths[stream])
			json_object_array_add(closed, json_object_new_string(paths->paths[stream]));
	rotation->handler(result, closed, rotation->userdata);
	free(rotation);
}

/* Rows of operations that ended before the call go to the segments that are closed. */
int rotate_new(struct session *session, engine_handler handler, void *userdata)
{
	const struct file_sink *sink = file_sink_of(session->sink);
	struct rotation *rotation;
	int r;

	if (!sink)
		return -EOPNOTSUPP;
	rotation = malloc(sizeof(*rotation));
	if (!rotation)
		return -ENOMEM;
	*rotation = (struct rotation){ handler, userdata };
	consumer_drain(session->context->consumer);
	session_report(session);
	r = writer_rotate_begin(sink->writer, on_rotated, rotation);
	if (r < 0)
		free(rotation);
	return r;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/lacking.h"

#include <stddef.h>

#include "json_add.h"
#include "pipeline/clocks.h"
#include "probes/loading.h"
#include "schema.h"
#include "session/missing.h"
#include "session/session.h"

static struct json_object *lack_new(void)
{
	struct json_object *lack = json_object_new_object();
	char text[CLOCKS_TEXT_MAX];

	add_string(lack, "stream", iotr_schemas[IOTR_VFS].flag);
	add_string(lack, "what", "inode and device of operations that name a file by its path");
	add_string(lack, "reason", "the hooks that tell them were not attached yet");
	add_string(lack, "from", clocks_format(text, clocks_realtime_ns()));
	return lack;
}

/* Which of the hooks could not be attached is known by now, too. */
static void on_inodes(struct loading_wait *wait)
{
	struct session *session = (struct session *)((char *)wait - offsetof(struct session, inodes));
	struct json_object *lack = json_object_array_get_idx(session->lacking, 0);
	char text[CLOCKS_TEXT_MAX];

	add_string(lack, "to", clocks_format(text, clocks_realtime_ns()));
	row_sink_tell(session->sink, "lacking", session->lacking);
	missing_add_failures(session->context->probes, &session->wish, session->missing);
	row_sink_tell(session->sink, "missing", session->missing);
}

void lacking_begin(struct session *session)
{
	struct probes *probes = session->context->probes;

	if (!(session->wish.streams & 1U << IOTR_VFS) || probes_have_inodes(probes))
		return;
	session->lacking = json_object_new_array();
	json_object_array_add(session->lacking, lack_new());
	row_sink_tell(session->sink, "lacking", session->lacking);
	session->inodes = (struct loading_wait){ .inodes = true, .loaded = on_inodes };
	loading_await(probes, &session->inodes);
}

void lacking_end(struct session *session)
{
	if (session->lacking)
		loading_leave(session->context->probes, &session->inodes);
}

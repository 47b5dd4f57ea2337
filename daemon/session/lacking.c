// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/lacking.h"

#include <stddef.h>

#include "json_add.h"
#include "pipeline/clocks.h"
#include "probes/loading.h"
#include "schema.h"
#include "session/missing.h"
#include "session/session.h"

static const struct {
	enum iotr_stream stream;
	const char *what;
} lacks[PROBES_LACK_COUNT] = {
	[PROBES_LACK_INODES] = { IOTR_VFS, "inode and device of operations that name a file by its path" },
	[PROBES_LACK_DIRTIERS] = { IOTR_BLOCK, "who made the pages dirty that are written" },
	[PROBES_LACK_SOURCES] = { IOTR_NET, "where datagrams come from, of calls that do not ask for it" },
};

static struct json_object *lack_new(enum probes_lack lack)
{
	struct json_object *entry = json_object_new_object();
	char text[CLOCKS_TEXT_MAX];

	add_string(entry, "stream", iotr_schemas[lacks[lack].stream].flag);
	add_string(entry, "what", lacks[lack].what);
	add_string(entry, "reason", "the hooks that tell it were not attached yet");
	add_string(entry, "from", clocks_format(text, clocks_realtime_ns()));
	return entry;
}

/* Which of the hooks could not be attached is known by now, too. */
static void on_seen(struct loading_wait *wait)
{
	unsigned int lack = (unsigned int)__builtin_ctz(wait->lacks);
	struct session_lack *first = (struct session_lack *)wait - lack;
	struct session *session = (struct session *)((char *)first - offsetof(struct session, lacks));
	char text[CLOCKS_TEXT_MAX];

	add_string(first[lack].entry, "to", clocks_format(text, clocks_realtime_ns()));
	row_sink_tell(session->sink, "lacking", session->lacking);
	missing_add_failures(session->context->probes, &session->wish, session->missing);
	row_sink_tell(session->sink, "missing", session->missing);
}

/* What of all that the session's rows lack now. */
static uint32_t lacks_of(const struct session *session, uint32_t streams)
{
	uint32_t found = 0;

	for (enum probes_lack lack = 0; lack < PROBES_LACK_COUNT; lack++)
		found |= (streams >> lacks[lack].stream & 1) << lack;
	return found & probes_lacks(session->context->probes);
}

void lacking_begin(struct session *session)
{
	uint32_t now = lacks_of(session, session->wish.streams);

	if (!now)
		return;
	session->lacking = json_object_new_array();
	for (enum probes_lack lack = 0; lack < PROBES_LACK_COUNT; lack++) {
		if (!(now >> lack & 1))
			continue;
		session->lacks[lack] = (struct session_lack){ { .lacks = 1U << lack, .loaded = on_seen }, lack_new(lack) };
		json_object_array_add(session->lacking, session->lacks[lack].entry);
		loading_await(session->context->probes, &session->lacks[lack].wait);
	}
	row_sink_tell(session->sink, "lacking", session->lacking);
}

void lacking_end(struct session *session)
{
	for (enum probes_lack lack = 0; session->lacking && lack < PROBES_LACK_COUNT; lack++)
		loading_leave(session->context->probes, &session->lacks[lack].wait);
}

uint32_t lacking_judged(const struct session *session)
{
	const struct iotr_session_spec *spec = &session->spec;
	uint32_t judged = 0;

	if (spec->device_count)
		judged |= 1U << PROBES_LACK_INODES;
	if (iotr_spec_filters_tasks(spec))
		judged |= 1U << PROBES_LACK_DIRTIERS;
	return judged & lacks_of(session, spec->streams);
}

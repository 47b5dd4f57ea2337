// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/recording.h"

#include <errno.h>

#include "json_add.h"
#include "pipeline/clocks.h"
#include "pipeline/storage/trace.h"
#include "probes/control_page.h"
#include "session/anonymity.h"
#include "session/counts.h"
#include "session/descendants.h"
#include "session/file_sink.h"
#include "session/groups_tell.h"
#include "session/lacking.h"
#include "session/missing.h"
#include "session/unended.h"
#include "snapshot/schedule.h"

/* Sets the filters; the programs look at them only when the slot is open. */
static int prepare_filters(struct session *session, struct engine_error *error)
{
	struct session_context *context = session->context;
	unsigned int bit = (unsigned int)session->slots.slot.bit;
	struct filter_error why;
	int r;

	control_page_modules(context->probes);
	r = control_page_prepare(context->probes, bit, &session->spec, session->paths, &why);
	if (r < 0)
		return engine_fail(error, r, why.parameter, why.message);
	r = session->spec.tree ? descendants_follow(context, bit, &session->spec) : 0;
	return r < 0 ? engine_fail(error, r, "tree", "cannot look for descendants that live already") : 0;
}

void recording_want(struct session *session)
{
	session->wish = (struct hookset_wish){ session->spec.streams, iotr_spec_follows_processes(&session->spec) };
	hookset_want(session->context->hookset, &session->wish);
}

static void attach_hooks(struct session *session)
{
	struct session_context *context = session->context;

	consumer_run(context->consumer, true);
	if (!session->wish.streams)
		recording_want(session);
	missing_add_failures(context->probes, &session->wish, session->missing);
	row_sink_tell(session->sink, "missing", session->missing);
	lacking_begin(session);
}

/* Tells of the time between the end of the daemon before and this moment, in which nothing was recorded. */
static void tell_restart(struct session *session)
{
	struct json_object *gap;
	char text[CLOCKS_TEXT_MAX];

	if (!session->before_until_ns)
		return;
	gap = json_object_new_object();
	add_string(gap, "from", clocks_format(text, session->before_until_ns));
	add_string(gap, "to", clocks_format(text, clocks_realtime_ns()));
	add_string(gap, "reason", "restart");
	session->gaps = json_object_new_array();
	json_object_array_add(session->gaps, gap);
	row_sink_tell(session->sink, "gaps", session->gaps);
}

/* Attaches the hooks and lets the programs emit rows. */
static int flow(struct session *session, struct engine_error *error)
{
	struct session_context *context = session->context;
	int r;

	groups_tell_begin(session);
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		const struct hookset_wish wish = { .streams = 1U << stream };

		session->missed_before[stream] =
			probes_missed(context->probes, hookset_groups(context->probes, &wish));
	}
	session->forgotten_before = control_page_forgotten(context->probes);
	r = slot_take(&context->slots, &session->slots);
	if (r < 0)
		return engine_fail(error, r, "", "cannot route rows to the session");
	attach_hooks(session);
	r = prepare_filters(session, error);
	if (r < 0)
		return r;
	control_page_open(context->probes, (unsigned int)session->slots.slot.bit, -1);
	tell_restart(session);
	return 0;
}

static void on_grown(uint64_t bytes, void *userdata)
{
	const struct session *session = userdata;

	trace_grown(file_sink_of(session->sink)->trace, bytes);
}

static int on_publish(struct json_object *list, writer_handler handler, void *handler_userdata, void *userdata)
{
	const struct session *session = userdata;

	return writer_snapshots(file_sink_of(session->sink)->writer, list, handler, handler_userdata);
}

static int begin_snapshots(struct session *session, int folder_fd)
{
	const struct schedule_config config = {
		.orders = session->context->orders,
		.event = session->context->event,
		.session = session->spec.name,
		.wanted = &session->spec.snapshots,
		.folder_fd = folder_fd,
		.reads = &session->owner,
		.writes = session_writes_as(session),
		.key = session->anonymizer ? session->anonymize_key : NULL,
		.grown = on_grown,
		.publish = on_publish,
		.userdata = session,
	};

	return schedule_new(&config, &session->schedule);
}

int recording_begin(struct session *session, int folder_fd, struct engine_error *error)
{
	int r = anonymize_begin(session, error);

	if (r < 0)
		return r;
	r = folder_fd < 0 ? 0 : begin_snapshots(session, folder_fd);
	if (r < 0)
		return engine_fail(error, r, "", "cannot take snapshots");
	return flow(session, error);
}

void recording_end(struct session *session)
{
	struct session_context *context = session->context;

	schedule_end(session->schedule);
	unended_tell(session);
	slot_close(&context->slots, &session->slots);
	session_report(session);
	groups_tell_end(session);
	lacking_end(session);
	hookset_unwant(context->hookset, &session->wish);
	session->wish = (struct hookset_wish){ 0 };
	consumer_run(context->consumer, hookset_wanted(context->hookset));
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/unended.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "json_add.h"
#include "pipeline/clocks.h"
#include "probes/control_page.h"
#include "probes/in_flight.h"
#include "schema.h"
#include "snapshot/orders.h"

/* What of one stream is in flight. */
struct unended {
	uint64_t count;
	struct in_flight_event oldest;
};

static void on_event(const struct in_flight_event *event, void *userdata)
{
	struct unended *unended = (struct unended *)userdata + event->stream;

	if (!event->since_ns || event->since_ns > clocks_mono_ns()) /* it is just beginning */
		return;
	if (!unended->count++ || event->since_ns < unended->oldest.since_ns)
		unended->oldest = *event;
}

static void on_thread(const struct iotr_task_head *thread, void *userdata)
{
	struct unended *unended = userdata;

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (unended[stream].count && unended[stream].oldest.task && unended[stream].oldest.task == thread->task) {
			unended[stream].oldest.pid = thread->tgid;
			unended[stream].oldest.tid = thread->tid;
		}
}

/* Finds the threads of calls, which the kernel side knows by their addresses. Without the iterator they stay unknown. */
static void find_threads(struct session *session, struct unended *unended)
{
	bool wanted = false;

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		wanted |= unended[stream].count && unended[stream].oldest.task;
	if (wanted)
		orders_each_thread(session->context->orders, on_thread, unended);
}

static void read_command(struct in_flight_event *event)
{
	char path[64];
	ssize_t size;
	int fd;

	if (*event->command || !event->tid)
		return;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", event->pid, event->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, event->command, sizeof(event->command) - 1);
	if (fd >= 0)
		close(fd);
	event->command[size > 0 ? size : 0] = '\0';
	event->command[strcspn(event->command, "\n")] = '\0';
}

/*
 * The name of an open file as its process sees it. A path that a call was given is in the memory of its process, which may hang with
 * the call, so nobody reads it there.
 */
static bool read_fd(const struct in_flight_event *event, char name[PATH_MAX])
{
	char path[64];
	ssize_t size;

	if (event->fd < 0 || !event->tid)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/fd/%d", event->pid, event->tid, event->fd);
	size = readlink(path, name, PATH_MAX - 1);
	name[size > 0 ? size : 0] = '\0';
	return size > 0;
}

static struct json_object *describe_oldest(struct in_flight_event *event)
{
	struct json_object *object = json_object_new_object();
	const struct iotr_schema *schema = &iotr_schemas[event->stream];
	char time[CLOCKS_TEXT_MAX], name[PATH_MAX], device[32];

	if (event->operation < schema->operation_count)
		add_string(object, "operation", schema->operations[event->operation]);
	add_string(object, "since", clocks_format(time, event->since_ns + (uint64_t)clocks_at(event->since_ns).offset_ns));
	add_u64(object, "since_mono_ns", event->since_ns);
	read_command(event);
	if (event->pid) {
		add_u64(object, "pid", event->pid);
		add_u64(object, "tid", event->tid);
	}
	if (*event->command)
		add_string(object, "command", event->command);
	if (read_fd(event, name))
		add_string(object, "filename", name);
	if (event->device) {
		snprintf(device, sizeof(device), "%u:%03u", event->device >> 20, event->device & 0xfffff);
		add_string(object, "device", device);
		add_u64(object, "sector", event->sector);
	}
	return object;
}

static struct json_object *describe(struct unended *unended)
{
	struct json_object *array = json_object_new_array();

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		struct json_object *entry;

		if (!unended[stream].count)
			continue;
		entry = json_object_new_object();
		add_string(entry, "stream", iotr_schemas[stream].flag);
		add_u64(entry, "count", unended[stream].count);
		json_object_object_add(entry, "oldest", describe_oldest(&unended[stream].oldest));
		json_object_array_add(array, entry);
	}
	return array;
}

void unended_tell(struct session *session)
{
	struct unended unended[IOTR_STREAM_COUNT] = { 0 };
	struct session_context *context = session->context;
	uint64_t slots = slot_mask(&context->slots, &session->slots);

	if (!slots)
		return;
	control_page_shut(context->probes, slots);
	in_flight_each(context->probes, slots, on_event, unended);
	find_threads(session, unended);
	session->in_flight = describe(unended);
	if (!json_object_array_length(session->in_flight)) {
		json_object_put(TAKE(session->in_flight));
		return;
	}
	row_sink_tell(session->sink, "in_flight", session->in_flight);
}

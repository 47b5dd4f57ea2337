// SPDX-License-Identifier: GPL-2.0-or-later
/* The writer's thread: what is due next, and what is left after the end. */
#include "writer_private.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "clock.h"
#include "log.h"

#define WAIT_MAX_NS 3600000000000ULL

static void flush_when_due(struct writer *writer, size_t new_rows, uint64_t now)
{
	if (!new_rows && !writer->flush_at)
		return;
	if (!writer->flush_at) {
		writer->flush_at = now + WRITER_FLUSH_NS;
	} else if (now >= writer->flush_at) {
		writer_flush(writer);
		writer->flush_at = writer_has_rows(writer) ? now + WRITER_FLUSH_NS : 0;
	}
}

static uint64_t rotation_at(const struct writer *writer)
{
	return writer->rotate_at > writer->retry_at ? writer->rotate_at : writer->retry_at;
}

static int timeout_ms(const struct writer *writer)
{
	uint64_t now = clocks_mono_ns(), at = UINT64_MAX;

	if (writer->flush_at)
		at = writer->flush_at;
	if (writer->rotate_at && rotation_at(writer) < at)
		at = rotation_at(writer);
	if (writer->manifest_due && writer_manifest_at(writer) < at)
		at = writer_manifest_at(writer);
	if (at == UINT64_MAX)
		return -1;
	return at > now ? (int)((at - now < WAIT_MAX_NS ? at - now : WAIT_MAX_NS) / 1000000) + 1 : 0;
}

static void wait(struct writer *writer)
{
	struct pollfd pollfd = { .fd = writer->eventfd, .events = POLLIN };
	eventfd_t value;

	if (!queue_idle(&writer->queue))
		return;
	writer_disk_idle(writer);
	if (poll(&pollfd, 1, timeout_ms(writer)) > 0)
		eventfd_read(writer->eventfd, &value);
}

/* Does what is left after the stop: final names of files, and the manifest. */
static void retry(struct writer *writer)
{
	int left = 0;

	FOR_EACH_STREAM (writer, stream)
		left |= sink_close_rest(&stream->sink);
	writer_disk_idle(writer);
	writer_write_manifest(writer);
	writer->manifest_due |= left;
}

/* Whether the folder was removed: nothing can be made in it any more. */
static bool is_gone(const struct writer *writer)
{
	struct stat status;

	return atomic_load(&writer->manifest_error) == -ENOENT &&
	       (fstat(writer->output_fd, &status) < 0 || !status.st_nlink);
}

static bool is_left(struct writer *writer)
{
	if (writer->manifest_due && is_gone(writer)) {
		log_notice("%s: the folder was removed, so its manifest is not written", writer->output);
		return false;
	}
	return writer->manifest_due && !atomic_load(&writer->abandoned);
}

static void turn(struct writer *writer)
{
	uint64_t now = clocks_mono_ns();
	size_t rows;

	atomic_fetch_add_explicit(&writer->turns, 1, memory_order_relaxed);
	writer_disk_progress(writer, now);
	rows = writer_write_batch(writer);
	flush_when_due(writer, rows, now);
	writer_rotate_when_due(writer, now);
	writer->manifest_due |= trace_has_changes(writer->trace) || atomic_load(&writer->losses_due);
	writer_write_manifest_when_due(writer, now);
	mailbox_serve(&writer->mailbox, writer);
	if (!rows && !writer->ended)
		wait(writer);
}

void *writer_run(void *argument)
{
	struct writer *writer = argument;

	if (writer->nice)
		setpriority(PRIO_PROCESS, 0, writer->nice); /* on Linux this affects the calling thread alone */
	rights_use(&writer->rights);
	while (!writer->ended)
		turn(writer);
	writer_disk_idle(writer);
	while (is_left(writer)) {
		mailbox_serve(&writer->mailbox, writer);
		wait(writer);
		if (clocks_mono_ns() >= writer_manifest_at(writer))
			retry(writer);
	}
	trace_ended(writer->trace);
	mailbox_serve(&writer->mailbox, writer);
	atomic_store(&writer->cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID));
	atomic_store(&writer->finished, true);
	mailbox_notify(&writer->mailbox);
	return NULL;
}

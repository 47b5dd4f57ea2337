// SPDX-License-Identifier: GPL-2.0-or-later
/* What the writer's thread does of the main thread's orders, between two batches of rows. */
#include "writer_private.h"

#include <errno.h>
#include <stdio.h>

#include "cleanup.h"

#define LAST_TRIES 8

int writer_do_rotate(void *owner, struct mail *mail)
{
	struct writer_mail *rotation = (struct writer_mail *)mail;
	struct writer *writer = owner;
	int error;

	if (writer->ended)
		return -ESHUTDOWN;
	error = writer_cut_all(writer, &rotation->paths);
	if (error < 0)
		return error;
	return clocks_mono_ns() < manifest_next_ns(&writer->manifest) ? 0 : writer_write_manifest(writer);
}

/* Making room for the manifest may remove a segment that it lists: then it is written again. */
static int write_last_manifest(struct writer *writer)
{
	int error, tries = LAST_TRIES;

	do
		error = writer_write_manifest(writer);
	while (!error && trace_has_changes(writer->trace) && --tries);
	return error;
}

int writer_do_stop(void *owner, struct mail *mail)
{
	struct writer_mail *stop = (struct writer_mail *)mail;
	struct writer *writer = owner;
	uint64_t now = clocks_mono_ns();
	int error;

	while (writer_write_batch(writer)) {
		now = clocks_mono_ns();
		writer_disk_progress(writer, now);
	}
	snprintf(writer->reason, sizeof(writer->reason), "%s", stop->reason);
	writer_close_all(writer, &stop->paths);
	writer_disk_progress(writer, clocks_mono_ns());
	writer_disk_idle(writer);
	writer->ended = true;
	writer->flush_at = writer->rotate_at = 0; /* only the manifest is waited for from now on */
	error = write_last_manifest(writer);
	losses_log(writer->losses, clocks_mono_ns(), true);
	FOR_EACH_STREAM (writer, stream)
		writer->manifest_due |= stream->sink.unclosed != NULL;
	return error;
}

int writer_do_discard(void *owner, struct mail *mail)
{
	struct writer *writer = owner;

	(void)mail;
	writer_disk_idle(writer);
	writer_remove(writer);
	writer->ended = true;
	writer->manifest_due = false;
	return 0;
}

int writer_do_redefine(void *owner, struct mail *mail)
{
	struct writer_mail *redefinition = (struct writer_mail *)mail;
	struct writer *writer = owner;

	writer->manifest_due = true;
	return manifest_redefine(&writer->manifest, TAKE(redefinition->object),
				 &redefinition->clocks);
}

int writer_do_snapshots(void *owner, struct mail *mail)
{
	struct writer_mail *snapshots = (struct writer_mail *)mail;
	struct writer *writer = owner;

	manifest_set_snapshots(&writer->manifest, TAKE(snapshots->object));
	writer->manifest_due = true;
	return snapshots->handler ? writer_write_manifest(writer) : 0;
}

int writer_do_tell(void *owner, struct mail *mail)
{
	struct writer_mail *told = (struct writer_mail *)mail;
	struct writer *writer = owner;

	manifest_set(&writer->manifest, told->key, TAKE(told->object));
	writer->manifest_due = true;
	return 0;
}

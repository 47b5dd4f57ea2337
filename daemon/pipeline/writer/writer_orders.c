// SPDX-License-Identifier: GPL-2.0-or-later
/* What the main thread has the writer's thread do, as mails to it, and its end. */
#include "writer_private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>

#define HUNG_NS 10000000000ULL /* a disk on which nothing has moved for so long does not answer */

void writer_paths_done(struct writer_paths *paths)
{
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		free(paths->paths[stream]);
		paths->paths[stream] = NULL;
	}
}

static void mail_done(struct mail *mail)
{
	struct writer_mail *done = (struct writer_mail *)mail;

	if (done->handler)
		done->handler(mail->result, &done->paths, done->userdata);
	writer_paths_done(&done->paths);
	json_object_put(done->object);
	cgroup_list_free(done->cgroups);
	free(done);
}

/* Posts a copy of the mail, which owns the mail's object from then on. */
static int post(struct writer *writer, const struct writer_mail *mail)
{
	struct writer_mail *posted = malloc(sizeof(*posted));

	if (!posted)
		return -ENOMEM;
	*posted = *mail;
	posted->mail.done = mail_done;
	mailbox_post(&writer->mailbox, &posted->mail);
	return 0;
}

/* Posts the mail with which the thread ends. */
static int post_last(struct writer *writer, const struct writer_mail *mail)
{
	int error = writer->stopping ? 0 : post(writer, mail);

	writer->stopping |= !error;
	return error;
}

int writer_rotate_begin(struct writer *writer, writer_handler handler, void *userdata)
{
	const struct writer_mail mail = {
		.mail.work = writer_do_rotate,
		.handler = handler,
		.userdata = userdata,
	};

	return writer->stopping ? -ESHUTDOWN : post(writer, &mail);
}

int writer_stop_begin(struct writer *writer, const char *reason, writer_handler handler,
		      void *userdata)
{
	const struct writer_mail mail = {
		.mail.work = writer_do_stop,
		.reason = reason,
		.handler = handler,
		.userdata = userdata,
	};

	return post_last(writer, &mail);
}

int writer_discard_begin(struct writer *writer, writer_handler handler, void *userdata)
{
	const struct writer_mail mail = {
		.mail.work = writer_do_discard,
		.handler = handler,
		.userdata = userdata,
	};

	return post_last(writer, &mail);
}

int writer_redefine(struct writer *writer, struct json_object *definition)
{
	struct writer_mail mail = { .mail.work = writer_do_redefine, .clocks = clocks_measure() };
	int error;

	if (writer->stopping)
		return -ESHUTDOWN;
	if (json_object_deep_copy(definition, &mail.object, NULL) < 0)
		return -ENOMEM;
	error = post(writer, &mail);
	if (error < 0)
		json_object_put(mail.object);
	return error;
}

int writer_snapshots(struct writer *writer, struct json_object *list, writer_handler handler, void *userdata)
{
	const struct writer_mail mail = {
		.mail.work = writer_do_snapshots,
		.object = list,
		.handler = handler,
		.userdata = userdata,
	};
	int r = writer->stopping ? -ESHUTDOWN : post(writer, &mail);

	if (r < 0)
		json_object_put(list);
	return r;
}

int writer_cgroups(struct writer *writer, struct cgroup_list *list, bool last, writer_handler handler, void *userdata)
{
	const struct writer_mail mail = {
		.mail.work = writer_do_cgroups,
		.cgroups = list,
		.last = last,
		.handler = handler,
		.userdata = userdata,
	};
	int r = writer->stopping ? -ESHUTDOWN : post(writer, &mail);

	if (r < 0)
		cgroup_list_free(list);
	return r;
}

void writer_tell(struct writer *writer, const char *key, struct json_object *value)
{
	struct writer_mail mail = { .mail.work = writer_do_tell, .key = key };

	if (!writer->stopping && json_object_deep_copy(value, &mail.object, NULL) >= 0 &&
	    post(writer, &mail) < 0)
		json_object_put(mail.object);
}

void writer_collect(struct writer *writer)
{
	mailbox_collect(&writer->mailbox);
}

void writer_finish(struct writer *writer)
{
	if (!writer->started || writer->stopped)
		return;
	atomic_store(&writer->abandoned, true);
	eventfd_write(writer->eventfd, 1);
	pthread_join(writer->thread, NULL);
	writer->stopped = true;
	writer_collect(writer);
}

bool writer_finish_until(struct writer *writer, uint64_t until_ns)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	if (!writer->started || writer->stopped)
		return true;
	atomic_store(&writer->abandoned, true);
	eventfd_write(writer->eventfd, 1);
	while (!writer_finished(writer)) {
		if (clocks_mono_ns() >= until_ns || writer_disk_stalled_ns(writer) >= HUNG_NS)
			return false;
		nanosleep(&moment, NULL);
	}
	writer_finish(writer);
	return true;
}

/* ---- and wait ---- */

int writer_rotate(struct writer *writer, struct writer_paths *paths)
{
	struct writer_mail mail = { .mail.work = writer_do_rotate };
	int result = -ESHUTDOWN;

	if (!writer->stopping)
		result = mailbox_call(&writer->mailbox, &mail.mail);
	*paths = mail.paths;
	return result;
}

int writer_stop(struct writer *writer, const char *reason, struct writer_paths *paths)
{
	struct writer_mail mail = { .mail.work = writer_do_stop, .reason = reason };
	int result = 0;

	if (!writer->stopping) {
		writer->stopping = true;
		result = mailbox_call(&writer->mailbox, &mail.mail);
		writer_finish(writer);
	}
	if (paths)
		*paths = mail.paths;
	else
		writer_paths_done(&mail.paths);
	return result;
}

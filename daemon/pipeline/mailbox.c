// SPDX-License-Identifier: GPL-2.0-or-later
#include "mailbox.h"

#include <sys/eventfd.h>

void mailbox_init(struct mailbox *mailbox, int eventfd)
{
	pthread_mutex_init(&mailbox->lock, NULL);
	pthread_cond_init(&mailbox->done, NULL);
	mailbox->eventfd = eventfd;
	atomic_init(&mailbox->work, NULL);
}

void mailbox_done(struct mailbox *mailbox)
{
	pthread_cond_destroy(&mailbox->done);
	pthread_mutex_destroy(&mailbox->lock);
}

int mailbox_call(struct mailbox *mailbox, mailbox_work work, void *argument)
{
	int result;

	pthread_mutex_lock(&mailbox->lock);
	mailbox->argument = argument;
	atomic_store(&mailbox->work, work);
	eventfd_write(mailbox->eventfd, 1);
	while (atomic_load(&mailbox->work))
		pthread_cond_wait(&mailbox->done, &mailbox->lock);
	result = mailbox->result;
	pthread_mutex_unlock(&mailbox->lock);
	return result;
}

void mailbox_serve(struct mailbox *mailbox, void *owner)
{
	mailbox_work work = atomic_load(&mailbox->work);
	int result;

	if (!work)
		return;
	result = work(owner, mailbox->argument);
	pthread_mutex_lock(&mailbox->lock);
	mailbox->result = result;
	atomic_store(&mailbox->work, NULL);
	pthread_cond_signal(&mailbox->done);
	pthread_mutex_unlock(&mailbox->lock);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "mailbox.h"

#include <stddef.h>
#include <sys/eventfd.h>

static void list_init(struct mail_list *list)
{
	list->first = NULL;
	list->end = &list->first;
}

static void list_add(struct mail_list *list, struct mail *mail)
{
	mail->next = NULL;
	*list->end = mail;
	list->end = &mail->next;
}

static struct mail *list_take(struct mail_list *list)
{
	struct mail *mail = list->first;

	if (mail && !(list->first = mail->next))
		list->end = &list->first;
	return mail;
}

void mailbox_init(struct mailbox *mailbox, int eventfd, int notice)
{
	pthread_mutex_init(&mailbox->lock, NULL);
	pthread_cond_init(&mailbox->answered, NULL);
	list_init(&mailbox->inbox);
	list_init(&mailbox->outbox);
	atomic_init(&mailbox->waiting, 0);
	mailbox->eventfd = eventfd;
	mailbox->notice = notice;
}

void mailbox_done(struct mailbox *mailbox)
{
	pthread_cond_destroy(&mailbox->answered);
	pthread_mutex_destroy(&mailbox->lock);
}

void mailbox_post(struct mailbox *mailbox, struct mail *mail)
{
	mail->finished = false;
	pthread_mutex_lock(&mailbox->lock);
	list_add(&mailbox->inbox, mail);
	atomic_fetch_add(&mailbox->waiting, 1);
	pthread_mutex_unlock(&mailbox->lock);
	eventfd_write(mailbox->eventfd, 1);
}

static struct mail *take(struct mailbox *mailbox, struct mail_list *list)
{
	struct mail *mail;

	pthread_mutex_lock(&mailbox->lock);
	mail = list_take(list);
	pthread_mutex_unlock(&mailbox->lock);
	return mail;
}

void mailbox_collect(struct mailbox *mailbox)
{
	struct mail *mail;

	while ((mail = take(mailbox, &mailbox->outbox)))
		mail->done(mail);
}

int mailbox_call(struct mailbox *mailbox, struct mail *mail)
{
	mail->done = NULL;
	mailbox_post(mailbox, mail);
	pthread_mutex_lock(&mailbox->lock);
	while (!mail->finished)
		pthread_cond_wait(&mailbox->answered, &mailbox->lock);
	pthread_mutex_unlock(&mailbox->lock);
	return mail->result;
}

void mailbox_notify(struct mailbox *mailbox)
{
	if (mailbox->notice >= 0)
		eventfd_write(mailbox->notice, 1);
}

/* A mail without `done` is not collected: it is its caller's again as soon as it is finished. */
static void answer(struct mailbox *mailbox, struct mail *mail, int result)
{
	bool collected = mail->done;

	pthread_mutex_lock(&mailbox->lock);
	mail->result = result;
	mail->finished = true;
	if (collected)
		list_add(&mailbox->outbox, mail);
	else
		pthread_cond_broadcast(&mailbox->answered);
	pthread_mutex_unlock(&mailbox->lock);
	if (collected)
		mailbox_notify(mailbox);
}

void mailbox_serve(struct mailbox *mailbox, void *owner)
{
	while (atomic_load_explicit(&mailbox->waiting, memory_order_relaxed)) {
		struct mail *mail = take(mailbox, &mailbox->inbox);

		atomic_fetch_sub(&mailbox->waiting, 1);
		answer(mailbox, mail, mail->work(owner, mail));
	}
}

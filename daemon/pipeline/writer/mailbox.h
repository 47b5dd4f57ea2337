/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that the main thread hands to a writer thread. The thread is woken through an eventfd and
 * looks into its mailbox between two batches of rows; work is done in the order it was posted.
 *
 * A disk may hold up the writer thread for long, and the main thread must not wait for that: it
 * posts a mail, and takes it back with mailbox_collect() when the eventfd `notice` is signalled.
 * mailbox_call() waits, for callers that may.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct mail {
	struct mail *next;
	int (*work)(void *owner, struct mail *mail); /* called on the other thread */
	void (*done)(struct mail *mail); /* called on the main thread; the mail is the callee's again */
	int result;			 /* what `work` returned */
	bool finished;
};

struct mail_list {
	struct mail *first;
	struct mail **end;
};

struct mailbox {
	pthread_mutex_t lock; /* protects the lists */
	pthread_cond_t answered;
	struct mail_list inbox;
	struct mail_list outbox;
	_Atomic int waiting; /* mails in the inbox */
	int eventfd;	     /* wakes the other thread; not owned */
	int notice;	     /* wakes the main thread; not owned, -1: none */
};

void mailbox_init(struct mailbox *mailbox, int eventfd, int notice);
void mailbox_done(struct mailbox *mailbox);

/* Main thread: has mail->work done on the other thread, and mail->done called afterwards. */
void mailbox_post(struct mailbox *mailbox, struct mail *mail);

/* Main thread: calls `done` of all mails whose work is done. */
void mailbox_collect(struct mailbox *mailbox);

/* Main thread: has the work done and returns what it returned. `done` is not called. */
int mailbox_call(struct mailbox *mailbox, struct mail *mail);

/* The other thread: does the work of all mails in the inbox. */
void mailbox_serve(struct mailbox *mailbox, void *owner);

/* The other thread: wakes the main thread through `notice`. */
void mailbox_notify(struct mailbox *mailbox);

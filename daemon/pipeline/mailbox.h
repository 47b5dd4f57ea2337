/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that the main thread hands to a writer thread and waits for. One caller at a time; the
 * thread is woken through an eventfd and looks into its mailbox between two batches of rows.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

typedef int (*mailbox_work)(void *owner, void *argument);

struct mailbox {
	pthread_mutex_t lock;
	pthread_cond_t done;
	int eventfd;		    /* not owned */
	_Atomic(mailbox_work) work; /* NULL: none */
	void *argument;
	int result;
};

void mailbox_init(struct mailbox *mailbox, int eventfd);
void mailbox_done(struct mailbox *mailbox);

/* Main thread: has `work` done on the other thread and returns what it returned. */
int mailbox_call(struct mailbox *mailbox, mailbox_work work, void *argument);

/* The other thread: does what there is to do. */
void mailbox_serve(struct mailbox *mailbox, void *owner);

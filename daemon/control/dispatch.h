/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a message to the handler of its method. Interfaces are tables of methods; a handler that
 * fails without having replied has its error number told to the client. Main thread only.
 */
#pragma once

#include <stddef.h>

#include "call.h"
#include "context.h"

struct method {
	const char *name;
	int (*handler)(struct call *call); /* 0, or -errno when it did not reply itself */
};

struct interface {
	const char *name;
	const char *description; /* Varlink interface definition */
	const struct method *methods;
	size_t method_count;
};

/* All there are, ended by NULL. */
extern const struct interface *const interfaces[];

/*
 * Handles one message. `*ret`: the call, done or left open; the caller owns it. -EBADMSG: it is
 * not a Varlink call and `*why` says so in words; nothing was replied.
 */
int dispatch_message(struct client *client, struct control *control, const char *text,
		     size_t length, struct call **ret, const char **why);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passes a message to the handler of its method. Interfaces are tables of methods; if a handler fails without
 * having replied, its error number is reported to the client. Main thread only.
 */
#pragma once

#include <stddef.h>

#include "call.h"
#include "context.h"

struct method {
	const char *name;
	int (*handler)(struct call *call); /* returns 0, or -errno if it has not replied itself */
};

struct interface {
	const char *name;
	const char *description; /* Varlink interface definition */
	const struct method *methods;
	size_t method_count;
};

/* All interfaces; NULL ends the list. */
extern const struct interface *const interfaces[];

/*
 * Handles one message. `*ret` is the call, finished or kept open; the caller owns it. -EBADMSG: the message is
 * not a Varlink call, `*why` says why in words, and nothing was replied.
 */
int dispatch_message(struct client *client, struct control *control, const char *text,
		     size_t length, struct call **ret, const char **why);

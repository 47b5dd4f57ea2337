/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passes a message to the handler of its method. If a handler fails without having replied, its error number is
 * reported to the client. Main thread only.
 */
#pragma once

#include <stddef.h>

#include "call.h"
#include "context.h"

struct connection;

/*
 * Handles one message. `*ret` is the call, finished or kept open; the caller owns it. -EBADMSG: the message is
 * not a Varlink call, `*why` says why in words, and nothing was replied.
 */
int dispatch_message(struct connection *connection, struct control *control, const char *text, size_t length,
		     struct call **ret, const char **why);

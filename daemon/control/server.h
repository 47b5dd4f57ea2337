/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket: accepts connections of those who may, SERVER_CLIENTS_MAX at once, and owns
 * them. Main thread only.
 */
#pragma once

#include "context.h"

enum { SERVER_CLIENTS_MAX = 64 };

struct server;

/* `control` is borrowed and must outlive the server. */
int server_new(struct control *control, struct server **ret);
/* Closes listening sockets and connections; open calls get their last reply. Takes NULL. */
void server_free(struct server *server);

/* Accepts connections of a listening socket. Takes the descriptor when it succeeds. */
int server_listen(struct server *server, int fd);

/* Serves a connected socket, or tells the peer why not and closes it. Always takes the descriptor.
 */
void server_adopt(struct server *server, int fd);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket: accepts connections of users who may control the daemon, SERVER_CLIENTS_MAX at once, and
 * owns them. A user other than root has SERVER_CLIENTS_USER of them at most, and SERVER_CLIENTS_ROOT are
 * reserved for root. If room is needed, the connection that has been idle longest is closed: one of the user's
 * own if he has too many. Main thread only.
 */
#pragma once

#include "context.h"

enum { SERVER_CLIENTS_MAX = 64, SERVER_CLIENTS_USER = 16, SERVER_CLIENTS_ROOT = 8 };

struct server;

/* `control` is borrowed and must outlive the server. */
int server_new(struct control *control, struct server **ret);
/* Closes listening sockets and connections; open calls get a last reply. Takes NULL. */
void server_free(struct server *server);

/* Accepts connections of a listening socket. Takes the descriptor on success. */
int server_listen(struct server *server, int fd);

/* Serves a connected socket, or replies why not and closes it. Always takes the descriptor. */
void server_adopt(struct server *server, int fd);

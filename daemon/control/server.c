// SPDX-License-Identifier: GPL-2.0-or-later
#include "server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cleanup.h"
#include "client.h"
#include "log.h"
#include "peer.h"
#include "protocol.h"

enum { LISTENERS_MAX = 4, ACCEPTS_A_TURN = 16 };

static const uint64_t ACCEPT_PAUSE_USEC = 1000000; /* pause after running out of descriptors */

struct server {
	struct control *control;
	sd_event_source *listeners[LISTENERS_MAX]; /* each owns its socket */
	size_t listener_count;
	sd_event_source *resume;
	struct client *clients[SERVER_CLIENTS_MAX];
	int spare; /* a descriptor that makes room for a connection when there is no other; -1: it has been used */
};

DEFINE_CLEANUP(struct server *, server_free);

static struct client **find_slot(struct server *server, const struct client *client)
{
	for (size_t i = 0; i < SERVER_CLIENTS_MAX; i++)
		if (server->clients[i] == client)
			return &server->clients[i];
	return NULL;
}

static void keep_spare(struct server *server)
{
	if (server->spare < 0)
		server->spare = eventfd(0, EFD_CLOEXEC);
}

static void on_gone(struct client *client, void *userdata)
{
	*find_slot(userdata, client) = NULL;
}

static bool is_of(const struct client *client, uid_t uid)
{
	return client && client_caller(client)->uid == uid;
}

/* Counts the connections of one user, and of all users except root. */
static void count(const struct server *server, uid_t uid, size_t *own, size_t *members)
{
	*own = *members = 0;
	for (size_t i = 0; i < SERVER_CLIENTS_MAX; i++) {
		*own += is_of(server->clients[i], uid);
		*members += server->clients[i] && !is_of(server->clients[i], 0);
	}
}

/*
 * Returns NULL if no connection is idle. `own`: only the user's connections count. A connection of root is
 * never closed for another user.
 */
static struct client *longest_idle(const struct server *server, uid_t uid, bool own)
{
	struct client *found = NULL;

	for (size_t i = 0; i < SERVER_CLIENTS_MAX; i++) {
		struct client *client = server->clients[i];

		if (!client || client_idle_since(client) == UINT64_MAX || (own && !is_of(client, uid)) ||
		    (uid && is_of(client, 0)))
			continue;
		if (!found || client_idle_since(client) < client_idle_since(found))
			found = client;
	}
	return found;
}

/*
 * Finds the slot for the user's next connection, after closing an idle one if necessary. NULL: there is no
 * room.
 */
static struct client **make_room(struct server *server, uid_t uid)
{
	struct client **slot = find_slot(server, NULL);
	struct client *idle;
	size_t own, members;
	bool too_many;

	count(server, uid, &own, &members);
	too_many = uid && own >= SERVER_CLIENTS_USER;
	if (slot && !too_many && !(uid && members >= SERVER_CLIENTS_MAX - SERVER_CLIENTS_ROOT))
		return slot;
	idle = longest_idle(server, uid, too_many);
	if (!idle)
		return NULL;
	log_debug("an idle connection of uid %u is closed for one of uid %u", client_caller(idle)->uid, uid);
	client_close(idle);
	return find_slot(server, NULL);
}

/*
 * Sends the reason before closing, with parameters, which it takes (NULL: none); if the peer does not read it in
 * time, it is dropped.
 */
static void turn_away(int fd, const char *error, struct json_object *parameters)
{
	_cleanup_json_ struct json_object *message = json_object_new_object();
	const char *text;

	json_object_object_add(message, "error", json_object_new_string(error));
	json_object_object_add(message, "parameters", parameters ?: json_object_new_object());
	text = json_object_to_json_string_ext(message, JSON_C_TO_STRING_PLAIN);
	if (text && send(fd, text, strlen(text) + 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_debug("cannot tell a peer why its connection is refused: %m");
}

void server_adopt(struct server *server, int owned_fd)
{
	_cleanup_close_ int fd = owned_fd;
	struct client **slot;
	struct rights caller = { 0 };
	enum role role = ROLE_NONE;
	uid_t uid;
	int r;

	r = peer_check(fd, server->control->groups, &caller, &role);
	uid = caller.uid;
	if (r < 0) {
		log_message(ABOUT(CALL_REFUSED, .user = &uid),
			    "uid %u %s: connection refused", uid,
			    r == -E2BIG ? "is in too many groups" : "has no role here");
		turn_away(fd, IOTR_PERMISSION_DENIED, role_denied(ROLE_READ));
		return;
	}
	log_left_out(); /* where no session runs, nobody says so every second */
	slot = make_room(server, uid);
	if (!slot) {
		log_message(ABOUT(CLIENT_CUT_OFF, .user = &uid),
			    "no connection is idle: one more of uid %u is refused", uid);
		turn_away(fd, IOTR_TOO_MANY_CONNECTIONS, NULL);
		return;
	}
	r = client_new(server->control, fd, &caller, role, on_gone, server, slot);
	if (r < 0)
		log_error("cannot serve a connection: %s", strerror(-r));
	else
		take_fd(&fd);
}

static void set_listening(struct server *server, int enabled)
{
	for (size_t i = 0; i < server->listener_count; i++)
		sd_event_source_set_enabled(server->listeners[i], enabled);
}

static int on_resume(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)source, (void)usec;
	set_listening(userdata, SD_EVENT_ON);
	return 0;
}

/* Descriptors or memory have run out: as the socket stays readable, it is not watched for a while. */
static void pause_listening(struct server *server)
{
	log_error("cannot accept a connection: %m");
	set_listening(server, SD_EVENT_OFF);
	sd_event_source_set_time_relative(server->resume, ACCEPT_PAUSE_USEC);
	sd_event_source_set_enabled(server->resume, SD_EVENT_ONESHOT);
}

/* Where no descriptor is left, one client at a time is served all the same: it may be the one who ends sessions. */
static int accept_one(struct server *server, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0 || (errno != EMFILE && errno != ENFILE) || server->spare < 0)
		return fd;
	closep(&server->spare);
	server->spare = -1;
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static int on_connection(sd_event_source *source, int listener, uint32_t events, void *userdata)
{
	struct server *server = userdata;

	(void)source, (void)events;
	keep_spare(server);
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		int fd = accept_one(server, listener);

		if (fd >= 0)
			server_adopt(server, fd);
		else if (errno == EAGAIN)
			return 0;
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			 errno == ENOMEM) {
			pause_listening(server);
			return 0;
		}
	}
	return 0;
}

int server_listen(struct server *server, int fd)
{
	sd_event_source **slot = &server->listeners[server->listener_count];
	int r;

	if (server->listener_count == LISTENERS_MAX)
		return -E2BIG;
	r = sd_event_add_io(server->control->event, slot, fd, EPOLLIN, on_connection, server);
	if (r < 0)
		return r;
	server->listener_count++;
	return sd_event_source_set_io_fd_own(*slot, true);
}

int server_new(struct control *control, struct server **ret)
{
	_cleanup_(server_freep) struct server *server = calloc(1, sizeof(*server));
	int r;

	if (!server)
		return -ENOMEM;
	server->control = control;
	server->spare = -1;
	keep_spare(server);
	r = sd_event_add_time_relative(control->event, &server->resume, CLOCK_MONOTONIC, 0, 0,
				       on_resume, server);
	if (r < 0)
		return r;
	r = sd_event_source_set_enabled(server->resume, SD_EVENT_OFF);
	if (r < 0)
		return r;
	*ret = TAKE(server);
	return 0;
}

void server_free(struct server *server)
{
	if (!server)
		return;
	for (size_t i = 0; i < server->listener_count; i++)
		sd_event_source_disable_unref(server->listeners[i]);
	sd_event_source_disable_unref(server->resume);
	for (size_t i = 0; i < SERVER_CLIENTS_MAX; i++)
		client_free(server->clients[i]);
	closep(&server->spare);
	free(server);
}

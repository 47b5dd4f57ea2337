// SPDX-License-Identifier: GPL-2.0-or-later
#include "client.h"

#include <errno.h>
#include <stdlib.h>

#include "call.h"
#include "cleanup.h"
#include "connection.h"
#include "dispatch.h"
#include "own_client.h"

struct client {
	struct control *control;
	client_gone gone;
	void *userdata;
	struct connection *connection;
	struct call *call; /* the call that is under way, or NULL */
	bool end;	   /* the peer sends no more */
	struct own_client *own; /* NULL: what its process does is recorded */
};

DEFINE_CLEANUP(struct client *, client_free);

const struct rights *client_caller(const struct client *client)
{
	return connection_caller(client->connection);
}

uint64_t client_idle_since(const struct client *client)
{
	return connection_idle_since(client->connection);
}

void client_close(struct client *client)
{
	client->gone(client, client->userdata);
	client_free(client);
}

/* The method is told that its caller sends no more. */
static void tell_end(const struct client *client)
{
	if (client->end && client->call && !client->call->done && client->call->on_end)
		client->call->on_end(client->call);
}

static void on_message(struct connection *connection, const char *text, size_t length, void *userdata)
{
	struct client *client = userdata;
	const char *why = "";
	int r = dispatch_message(connection, client->control, text, length, &client->call, &why);

	if (r == -ENOMEM)
		connection_send_lack(connection);
	else if (r < 0)
		connection_refuse(connection, why);
	tell_end(client);
}

/* A call ends here, rather than with its last reply, as its method may still use it after that. */
static bool is_busy(void *userdata)
{
	struct client *client = userdata;

	if (client->call && client->call->done)
		call_free(TAKE(client->call));
	return client->call;
}

static void on_end(void *userdata)
{
	struct client *client = userdata;

	client->end = true;
	tell_end(client);
}

static void on_gone(void *userdata)
{
	client_close(userdata);
}

static const struct connection_handler handler = { on_message, is_busy, on_end, on_gone };

int client_new(struct control *control, int fd, const struct rights *caller, enum role role, client_gone gone,
	       void *userdata, struct client **ret)
{
	_cleanup_(client_freep) struct client *client = calloc(1, sizeof(*client));
	const struct connection_config config = {
		.event = control->event,
		.caller = caller,
		.role = role,
		.stall_usec = control->stall_usec,
		.idle_usec = control->idle_usec,
		.handler = &handler,
		.userdata = client,
	};
	int r;

	if (!client)
		return -ENOMEM;
	*client = (struct client){ .control = control, .gone = gone, .userdata = userdata };
	r = connection_new(fd, &config, &client->connection);
	if (r < 0)
		return r;
	client->own = own_client_new(control, fd);
	*ret = TAKE(client);
	return 0;
}

/* Sends the last reply of a call that was kept open. */
static void end_open_call(struct call *call)
{
	if (call->more)
		call_reply(call, NULL);
	else
		call_failed(call, "the daemon ends");
}

void client_free(struct client *client)
{
	if (!client)
		return;
	if (client->call && !client->call->done)
		end_open_call(client->call);
	call_free(client->call);
	connection_free(client->connection);
	own_client_free(client->own);
	free(client);
}

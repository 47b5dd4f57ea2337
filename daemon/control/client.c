// SPDX-License-Identifier: GPL-2.0-or-later
#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "call.h"
#include "cleanup.h"
#include "clock.h"
#include "dispatch.h"
#include "log.h"
#include "protocol.h"

enum {
	READ_CHUNK = 64 << 10,
	CALLS_A_TURN = 32, /* so that one client does not block the loop for the others */
};

#define TURN_NS 1000000 /* for the same reason, no call begins later than this in a turn */

static const uint64_t STALL_USEC = 10000000, IDLE_USEC = 30000000;

struct client {
	struct control *control;
	client_gone gone;
	void *userdata;
	int fd;
	struct rights caller;
	pid_t process; /* the process that connected */

	struct iotr_buffer in;
	struct iotr_buffer out;
	struct call *call; /* a call that is kept open: later messages wait */
	bool waiting;	   /* a complete message is to be handled at the next turn */
	uint64_t idle_ns;  /* time when something was received or done last, CLOCK_MONOTONIC */

	sd_event_source *io;
	sd_event_source *turn;	/* runs once, at the next turn of the loop */
	sd_event_source *timer; /* for a client that does not read, or an incomplete message */
	uint64_t timer_mark;	/* progress at the time when the timer was set */
	uint64_t received;	/* total number of bytes */
	uint64_t written;

	bool end;     /* the client sends no more */
	bool closing; /* queued output is still written, then the connection is closed */
	bool broken;  /* nothing is written any more */
};

DEFINE_CLEANUP(struct client *, client_free);

const struct rights *client_caller(const struct client *client)
{
	return &client->caller;
}

bool client_behind(const struct client *client)
{
	return client->out.length >= CLIENT_OUTPUT_BEHIND;
}

void client_wake(struct client *client)
{
	sd_event_source_set_enabled(client->turn, SD_EVENT_ONESHOT);
}

void client_send(struct client *client, struct json_object *message)
{
	if (client->broken || client->closing)
		return;
	if (iotr_buffer_append_json(&client->out, message) < 0 ||
	    client->out.length > CLIENT_OUTPUT_MAX) {
		log_warning("a client of uid %u takes its replies too slowly: cut off",
			    client->caller.uid);
		client->broken = true;
	}
	client_wake(client);
}

static void refuse_message(struct client *client, const char *why)
{
	_cleanup_json_ struct json_object *message = json_object_new_object();
	struct json_object *parameters = json_object_new_object();

	log_debug("a client of uid %u broke the protocol: %s", client->caller.uid, why);
	json_object_object_add(parameters, "message", json_object_new_string(why));
	json_object_object_add(message, "error", json_object_new_string(IOTR_PROTOCOL_ERROR));
	json_object_object_add(message, "parameters", parameters);
	client_send(client, message);
	client->closing = true;
}

static void write_output(struct client *client)
{
	while (client->out.length && !client->broken) {
		ssize_t n = send(client->fd, client->out.data + client->out.begin,
				 client->out.length, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			client->broken = true;
		if (n < 0)
			return;
		client->written += (uint64_t)n;
		iotr_buffer_consume(&client->out, (size_t)n);
	}
}

static bool input_full(const struct client *client)
{
	return client->in.length > IOTR_MESSAGE_MAX;
}

static void read_input(struct client *client)
{
	static char chunk[READ_CHUNK]; /* static, as there is only one thread */
	size_t room = (size_t)IOTR_MESSAGE_MAX + 1 - client->in.length;
	ssize_t n =
		recv(client->fd, chunk, room < sizeof(chunk) ? room : sizeof(chunk), MSG_DONTWAIT);

	if (n > 0 && iotr_buffer_append(&client->in, chunk, (size_t)n) < 0)
		client->broken = true;
	else if (n > 0)
		client->received += (uint64_t)n;
	else if (n == 0)
		client->end = true;
	else if (errno != EAGAIN && errno != EINTR)
		client->broken = true;
}

static void end_call(struct client *client)
{
	if (client->call && client->call->done) {
		call_free(client->call);
		client->call = NULL;
	}
}

static void handle_message(struct client *client, const char *text, size_t length)
{
	const char *why = "";
	int r = dispatch_message(client, client->control, text, length, &client->call, &why);

	iotr_buffer_consume(&client->in, length + 1);
	if (r < 0)
		refuse_message(client, why);
	end_call(client);
}

static bool next_message(struct client *client, const char **text, size_t *length)
{
	if (client->call || client->closing || client->broken || client_behind(client))
		return false;
	if (iotr_buffer_message(&client->in, text, length))
		return true;
	if (input_full(client))
		refuse_message(client, "the message is longer than 1 MiB");
	return false;
}

static bool finished(const struct client *client)
{
	if (client->broken)
		return true;
	return !client->out.length && (client->closing || (client->end && !client->call));
}

static uint32_t wanted_events(const struct client *client)
{
	uint32_t events = 0;

	if (!client->end && !client->closing && !input_full(client) && !client_behind(client))
		events |= EPOLLIN;
	if (client->out.length)
		events |= EPOLLOUT;
	return events;
}

/*
 * Sets the time by which progress is needed: of the output if any is queued, otherwise of an incomplete
 * message.
 */
static void set_timer(struct client *client)
{
	const struct control *control = client->control;
	bool stalled = client->out.length > 0;
	bool half = client->in.length > 0 && !client->call;
	uint64_t mark = stalled ? client->written << 1 | 1 : client->received << 1;

	if (!stalled && !half) {
		sd_event_source_set_enabled(client->timer, SD_EVENT_OFF);
		client->timer_mark = UINT64_MAX;
		return;
	}
	if (client->timer_mark == mark)
		return; /* no progress since the timer was set */
	client->timer_mark = mark;
	sd_event_source_set_time_relative(client->timer,
					  stalled ? (control->stall_usec ?: STALL_USEC)
						  : (control->idle_usec ?: IDLE_USEC));
	sd_event_source_set_enabled(client->timer, SD_EVENT_ONESHOT);
}

uint64_t client_idle_since(const struct client *client)
{
	int unread = 0;

	/* Input in the socket that was not read yet may be a call, so the connection is not idle. */
	if (client->call || client->out.length || client->waiting ||
	    (ioctl(client->fd, FIONREAD, &unread) == 0 && unread))
		return UINT64_MAX;
	return client->idle_ns;
}

void client_close(struct client *client)
{
	client->gone(client, client->userdata);
	client_free(client);
}

/* Handles what can be handled now: calls in order, one at a time. May free the client. */
static void proceed(struct client *client)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + TURN_NS;
	const char *text;
	size_t length;

	client->idle_ns = clock_ns(CLOCK_MONOTONIC);
	end_call(client);
	write_output(client);
	for (int left = CALLS_A_TURN; left && next_message(client, &text, &length); left--) {
		handle_message(client, text, length);
		if (clock_ns(CLOCK_MONOTONIC) >= end)
			break;
	}
	write_output(client);

	client->waiting = next_message(client, &text, &length);
	if (client->waiting) {
		client_wake(client);
	} else if (finished(client)) {
		client_close(client);
		return;
	}
	sd_event_source_set_io_events(client->io, wanted_events(client));
	set_timer(client);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct client *client = userdata;

	(void)source, (void)fd;
	if (events & EPOLLIN)
		read_input(client);
	else if (events & (EPOLLHUP | EPOLLERR))
		client->broken = true; /* nobody will read a reply */
	proceed(client);
	return 0;
}

static int on_turn(sd_event_source *source, void *userdata)
{
	(void)source;
	proceed(userdata);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct client *client = userdata;

	(void)source, (void)usec;
	log_warning("a client of uid %u %s: cut off", client->caller.uid,
		    client->out.length ? "does not take its replies" : "sent half a message");
	client->broken = true;
	proceed(client);
	return 0;
}

static int add_sources(struct client *client)
{
	sd_event *event = client->control->event;
	int r;

	r = sd_event_add_io(event, &client->io, client->fd, EPOLLIN, on_io, client);
	if (r < 0)
		return r;
	r = sd_event_add_defer(event, &client->turn, on_turn, client);
	if (r < 0)
		return r;
	r = sd_event_source_set_enabled(client->turn, SD_EVENT_OFF);
	if (r < 0)
		return r;
	r = sd_event_add_time_relative(event, &client->timer, CLOCK_MONOTONIC, 0, 0, on_timer,
				       client);
	if (r < 0)
		return r;
	return sd_event_source_set_enabled(client->timer, SD_EVENT_OFF);
}

/* Returns 0 if the process is not known. */
static pid_t process_of(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ? 0 : peer.pid;
}

int client_new(struct control *control, int fd, const struct rights *caller, client_gone gone, void *userdata,
	       struct client **ret)
{
	_cleanup_(client_freep) struct client *client = calloc(1, sizeof(*client));
	int r;

	if (!client)
		return -ENOMEM;
	*client = (struct client){
		.control = control,
		.gone = gone,
		.userdata = userdata,
		.fd = fd,
		.caller = *caller,
		.timer_mark = UINT64_MAX,
		.idle_ns = clock_ns(CLOCK_MONOTONIC),
	};
	r = add_sources(client);
	if (r < 0) {
		client->fd = -1; /* the caller keeps the descriptor */
		return r;
	}
	client->process = process_of(fd);
	engine_own(control->engine, client->process, true);
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
	if (client->fd >= 0)
		write_output(client);
	sd_event_source_disable_unref(client->io);
	sd_event_source_disable_unref(client->turn);
	sd_event_source_disable_unref(client->timer);
	iotr_buffer_done(&client->in);
	iotr_buffer_done(&client->out);
	if (client->process)
		engine_own(client->control->engine, client->process, false);
	if (client->fd >= 0)
		close(client->fd);
	free(client);
}

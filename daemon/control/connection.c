// SPDX-License-Identifier: GPL-2.0-or-later
#include "connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "log.h"
#include "protocol.h"

enum {
	READ_CHUNK = 64 << 10,
	MESSAGES_A_TURN = 32, /* so that one peer does not block the loop for the others */
};

#define TURN_NS 1000000 /* for the same reason, no message is handled later than this in a turn */

static const uint64_t STALL_USEC = 10000000, IDLE_USEC = 30000000;

struct connection {
	const struct connection_handler *handler;
	void *userdata;
	int fd;
	struct rights caller;
	enum role role;
	uint64_t stall_usec, idle_usec;

	struct iotr_buffer in;
	struct iotr_buffer out;
	bool busy;	  /* the last message is still being answered: later ones wait */
	bool waiting;	  /* a complete message is to be handled at the next turn */
	uint64_t idle_ns; /* time when something was received or done last, CLOCK_MONOTONIC */

	sd_event_source *io;
	sd_event_source *turn;	/* runs once, at the next turn of the loop */
	sd_event_source *timer; /* for a peer that does not read, or an incomplete message */
	uint64_t timer_mark;	/* progress at the time when the timer was set */
	uint64_t received;	/* total number of bytes */
	uint64_t written;

	bool end;     /* the peer sends no more */
	bool closing; /* queued output is still written, then the connection is closed */
	bool broken;  /* nothing is written any more */
};

DEFINE_CLEANUP(struct connection *, connection_free);

const struct rights *connection_caller(const struct connection *connection)
{
	return &connection->caller;
}

enum role connection_role(const struct connection *connection)
{
	return connection->role;
}

bool connection_behind(const struct connection *connection)
{
	return connection->out.length >= CONNECTION_OUTPUT_BEHIND;
}

void connection_wake(struct connection *connection)
{
	sd_event_source_set_enabled(connection->turn, SD_EVENT_ONESHOT);
}

void connection_send(struct connection *connection, struct json_object *message)
{
	int r;

	if (connection->broken || connection->closing)
		return;
	r = iotr_buffer_append_reply(&connection->out, message);
	if (r < 0 || connection->out.length > CONNECTION_OUTPUT_MAX) {
		log_message(ABOUT(CLIENT_CUT_OFF, .user = &connection->caller.uid), "a client of uid %u %s: disconnected",
			    connection->caller.uid, r < 0 ? "cannot be answered, out of memory" : "reads its replies too slowly");
		connection->broken = true;
	}
	connection_wake(connection);
}

void connection_send_lack(struct connection *connection)
{
	static const char text[] = "{\"error\":\"" IOTR_FAILED "\",\"parameters\":{\"message\":\"the daemon is out of memory\"}}";

	if (connection->broken || connection->closing)
		return;
	if (iotr_buffer_append(&connection->out, text, sizeof(text)) < 0)
		connection->broken = true;
	connection_wake(connection);
}

void connection_refuse(struct connection *connection, const char *why)
{
	_cleanup_json_ struct json_object *message = json_object_new_object();
	struct json_object *parameters = json_object_new_object();

	log_debug("a client of uid %u broke the protocol: %s", connection->caller.uid, why);
	json_object_object_add(parameters, "message", json_object_new_string(why));
	json_object_object_add(message, "error", json_object_new_string(IOTR_PROTOCOL_ERROR));
	json_object_object_add(message, "parameters", parameters);
	connection_send(connection, message);
	connection->closing = true;
}

static void write_output(struct connection *connection)
{
	while (connection->out.length && !connection->broken) {
		ssize_t n = send(connection->fd, connection->out.data + connection->out.begin,
				 connection->out.length, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			connection->broken = true;
		if (n < 0)
			return;
		connection->written += (uint64_t)n;
		iotr_buffer_consume(&connection->out, (size_t)n);
	}
}

static bool input_full(const struct connection *connection)
{
	return connection->in.length > IOTR_MESSAGE_MAX;
}

static void take_end(struct connection *connection)
{
	connection->end = true;
	connection->handler->end(connection->userdata);
}

static void read_input(struct connection *connection)
{
	static char chunk[READ_CHUNK]; /* static, as there is only one thread */
	size_t room = (size_t)IOTR_MESSAGE_MAX + 1 - connection->in.length;
	ssize_t n =
		recv(connection->fd, chunk, room < sizeof(chunk) ? room : sizeof(chunk), MSG_DONTWAIT);

	if (n > 0 && iotr_buffer_append(&connection->in, chunk, (size_t)n) < 0)
		connection->broken = true;
	else if (n > 0)
		connection->received += (uint64_t)n;
	else if (n == 0)
		take_end(connection);
	else if (errno != EAGAIN && errno != EINTR)
		connection->broken = true;
}

static void handle_message(struct connection *connection, const char *text, size_t length)
{
	connection->handler->message(connection, text, length, connection->userdata);
	iotr_buffer_consume(&connection->in, length + 1);
	connection->busy = connection->handler->busy(connection->userdata);
}

static bool next_message(struct connection *connection, const char **text, size_t *length)
{
	if (connection->busy || connection->closing || connection->broken || connection_behind(connection))
		return false;
	if (iotr_buffer_message(&connection->in, text, length))
		return true;
	if (input_full(connection))
		connection_refuse(connection, "the message is longer than 1 MiB");
	return false;
}

static bool finished(const struct connection *connection)
{
	if (connection->broken)
		return true;
	return !connection->out.length && (connection->closing || (connection->end && !connection->busy));
}

static uint32_t wanted_events(const struct connection *connection)
{
	uint32_t events = 0;

	if (!connection->end && !connection->closing && !input_full(connection) && !connection_behind(connection))
		events |= EPOLLIN;
	if (connection->out.length)
		events |= EPOLLOUT;
	return events;
}

/*
 * Sets the time by which progress is needed: of the output if any is queued, otherwise of an incomplete
 * message.
 */
static void set_timer(struct connection *connection)
{
	bool stalled = connection->out.length > 0;
	bool half = connection->in.length > 0 && !connection->busy;
	uint64_t mark = stalled ? connection->written << 1 | 1 : connection->received << 1;

	if (!stalled && !half) {
		sd_event_source_set_enabled(connection->timer, SD_EVENT_OFF);
		connection->timer_mark = UINT64_MAX;
		return;
	}
	if (connection->timer_mark == mark)
		return; /* no progress since the timer was set */
	connection->timer_mark = mark;
	sd_event_source_set_time_relative(connection->timer,
					  stalled ? connection->stall_usec : connection->idle_usec);
	sd_event_source_set_enabled(connection->timer, SD_EVENT_ONESHOT);
}

uint64_t connection_idle_since(const struct connection *connection)
{
	int unread = 0;

	/* Input in the socket that was not read yet may be a message, so the connection is not idle. */
	if (connection->busy || connection->out.length || connection->waiting ||
	    (ioctl(connection->fd, FIONREAD, &unread) == 0 && unread))
		return UINT64_MAX;
	return connection->idle_ns;
}

/* Handles what can be handled now: messages in order, one at a time. The owner may free the connection. */
static void proceed(struct connection *connection)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + TURN_NS;
	const char *text;
	size_t length;

	connection->idle_ns = clock_ns(CLOCK_MONOTONIC);
	connection->busy = connection->handler->busy(connection->userdata);
	write_output(connection);
	for (int left = MESSAGES_A_TURN; left && next_message(connection, &text, &length); left--) {
		handle_message(connection, text, length);
		if (clock_ns(CLOCK_MONOTONIC) >= end)
			break;
	}
	write_output(connection);

	connection->waiting = next_message(connection, &text, &length);
	if (connection->waiting) {
		connection_wake(connection);
	} else if (finished(connection)) {
		connection->handler->gone(connection->userdata);
		return;
	}
	sd_event_source_set_io_events(connection->io, wanted_events(connection));
	set_timer(connection);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct connection *connection = userdata;

	(void)source, (void)fd;
	if (events & EPOLLIN)
		read_input(connection);
	else if (events & (EPOLLHUP | EPOLLERR))
		connection->broken = true; /* nobody will read a reply */
	proceed(connection);
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
	struct connection *connection = userdata;

	(void)source, (void)usec;
	log_message(ABOUT(CLIENT_CUT_OFF, .user = &connection->caller.uid),
		    "a client of uid %u %s: disconnected", connection->caller.uid,
		    connection->out.length ? "does not read its replies" : "sent an incomplete message");
	connection->broken = true;
	proceed(connection);
	return 0;
}

static int add_sources(struct connection *connection, sd_event *event)
{
	int r;

	r = sd_event_add_io(event, &connection->io, connection->fd, EPOLLIN, on_io, connection);
	if (r < 0)
		return r;
	r = sd_event_add_defer(event, &connection->turn, on_turn, connection);
	if (r < 0)
		return r;
	r = sd_event_source_set_enabled(connection->turn, SD_EVENT_OFF);
	if (r < 0)
		return r;
	r = sd_event_add_time_relative(event, &connection->timer, CLOCK_MONOTONIC, 0, 0, on_timer, connection);
	if (r < 0)
		return r;
	return sd_event_source_set_enabled(connection->timer, SD_EVENT_OFF);
}

int connection_new(int fd, const struct connection_config *config, struct connection **ret)
{
	_cleanup_(connection_freep) struct connection *connection = calloc(1, sizeof(*connection));
	int r;

	if (!connection)
		return -ENOMEM;
	*connection = (struct connection){
		.handler = config->handler,
		.userdata = config->userdata,
		.fd = fd,
		.caller = *config->caller,
		.role = config->role,
		.stall_usec = config->stall_usec ?: STALL_USEC,
		.idle_usec = config->idle_usec ?: IDLE_USEC,
		.timer_mark = UINT64_MAX,
		.idle_ns = clock_ns(CLOCK_MONOTONIC),
	};
	r = add_sources(connection, config->event);
	if (r < 0) {
		connection->fd = -1; /* the caller keeps the descriptor */
		return r;
	}
	*ret = TAKE(connection);
	return 0;
}

void connection_free(struct connection *connection)
{
	if (!connection)
		return;
	if (connection->fd >= 0)
		write_output(connection);
	sd_event_source_disable_unref(connection->io);
	sd_event_source_disable_unref(connection->turn);
	sd_event_source_disable_unref(connection->timer);
	iotr_buffer_done(&connection->in);
	iotr_buffer_done(&connection->out);
	if (connection->fd >= 0)
		close(connection->fd);
	free(connection);
}

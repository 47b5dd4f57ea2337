// SPDX-License-Identifier: GPL-2.0-or-later
#include "request/connection.h"

#include <errno.h>
#include <unistd.h>

#include "cleanup.h"

int connection_open(const char *path, struct connection *connection)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	int r;

	if (fd < 0)
		return -errno;
	r = iotr_socket_address(path, &address);
	if (r < 0)
		return r;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	*connection = (struct connection){ .fd = take_fd(&fd) };
	return 0;
}

/*
 * The last connection stays open until the program ends: as long as it is open, the daemon treats this process
 * as its client, and output that is still to be printed makes no rows.
 */
void connection_close(struct connection *connection)
{
	static int last = -1;

	if (connection->fd >= 0) {
		closep(&last);
		last = take_fd(&connection->fd);
	}
	iotr_buffer_done(&connection->in);
}

/*
 * A daemon that refused the connection has closed its end; as its reply gives the reason, that is not an error
 * here.
 */
static int send_all(struct connection *connection, struct iotr_buffer *out)
{
	while (out->length) {
		ssize_t n = send(connection->fd, out->data + out->begin, out->length, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EPIPE || errno == ECONNRESET ? 0 : -errno;
		iotr_buffer_consume(out, (size_t)n);
	}
	return 0;
}

int connection_send(struct connection *connection, const char *method,
		    struct json_object *parameters, bool more)
{
	_cleanup_json_ struct json_object *message = json_object_new_object();
	_cleanup_(iotr_buffer_done) struct iotr_buffer out = { 0 };
	int r;

	json_object_object_add(message, "method", json_object_new_string(method));
	if (parameters)
		json_object_object_add(message, "parameters", json_object_get(parameters));
	if (more)
		json_object_object_add(message, "more", json_object_new_boolean(true));
	r = iotr_buffer_append_json(&out, message);
	return r < 0 ? r : send_all(connection, &out);
}

bool connection_pending(struct connection *connection)
{
	const char *text;
	size_t length;

	return iotr_buffer_message(&connection->in, &text, &length);
}

static int read_more(struct connection *connection)
{
	char chunk[16384];
	ssize_t n = recv(connection->fd, chunk, sizeof(chunk), 0);

	if (n < 0)
		return -errno;
	if (n == 0)
		return -ECONNRESET;
	return iotr_buffer_append(&connection->in, chunk, (size_t)n);
}

int connection_receive(struct connection *connection, struct json_object **reply)
{
	const char *text, *why;
	size_t length;
	int r;

	while (!iotr_buffer_message(&connection->in, &text, &length)) {
		r = read_more(connection);
		if (r < 0)
			return r;
	}
	r = iotr_message_parse(text, length, reply, &why);
	iotr_buffer_consume(&connection->in, length + 1);
	return r;
}

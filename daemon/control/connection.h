/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One connection: bytes in, messages out, in order. What a message means is up to its handler. Main thread
 * only.
 *
 * What a peer can use is bounded: at most IOTR_MESSAGE_MAX bytes of input are queued, and CONNECTION_OUTPUT_MAX
 * bytes of output; while CONNECTION_OUTPUT_BEHIND bytes are queued, no further message is handled. The
 * connection ends if the peer does not read for too long, or leaves a message incomplete.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "rights.h"
#include "role.h"

enum {
	CONNECTION_OUTPUT_MAX = 4 << 20,
	CONNECTION_OUTPUT_BEHIND = 1 << 20,
};

struct connection;

/* What the owner of a connection does with it, on the main loop. */
struct connection_handler {
	/* Handles a message, which is followed by a NUL and valid until this returns. */
	void (*message)(struct connection *connection, const char *text, size_t length, void *userdata);
	/*
	 * Whether the last message is still being answered; the next one waits until then. Asked after each
	 * message, and at each turn of the loop after connection_wake().
	 */
	bool (*busy)(void *userdata);
	/* The peer sends no more, and its last message may still be being answered. Called once. */
	void (*end)(void *userdata);
	/* Nothing is left to do: the owner frees the connection. */
	void (*gone)(void *userdata);
};

struct connection_config {
	sd_event *event;
	const struct rights *caller; /* the user at the other end, from the kernel; copied */
	enum role role;		     /* his */
	uint64_t stall_usec; /* a peer that does not read for so long is disconnected; 0: 10 s */
	uint64_t idle_usec;  /* a peer whose message stays incomplete for so long is disconnected; 0: 30 s */
	const struct connection_handler *handler; /* borrowed */
	void *userdata;
};

/* Takes the descriptor on success. */
int connection_new(int fd, const struct connection_config *config, struct connection **ret);
/* Writes as much output as the socket accepts at once, and closes it. Takes NULL. */
void connection_free(struct connection *connection);

const struct rights *connection_caller(const struct connection *connection);
enum role connection_role(const struct connection *connection);

/* Time since which the connection is idle, CLOCK_MONOTONIC; UINT64_MAX: it is not idle. */
uint64_t connection_idle_since(const struct connection *connection);

/* Queues a message. A peer with more than CONNECTION_OUTPUT_MAX bytes of queued output is disconnected. */
void connection_send(struct connection *connection, struct json_object *message);
/* Replies Failed in place of a message for which there is no memory. */
void connection_send_lack(struct connection *connection);

/* Replies ProtocolError with a sentence; the connection ends when that is written. */
void connection_refuse(struct connection *connection, const char *why);
/* Whether so much output is queued that nothing optional should be added. */
bool connection_behind(const struct connection *connection);
/* Makes the connection handle its messages and buffers at the next turn of the loop. */
void connection_wake(struct connection *connection);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control protocol, used by both ends: Varlink, one JSON object per message, followed by a NUL. Names,
 * limits, and the buffer that splits a byte stream into messages. A buffer belongs to its owner; nothing here
 * blocks or has a state of its own.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#define IOTR_RUNTIME_DIR  "/run/iotracer"
#define IOTR_SOCKET_NAME  "io.iotracer"
#define IOTR_SOCKET_PATH  IOTR_RUNTIME_DIR "/" IOTR_SOCKET_NAME

/* Below it lie the traces, LOG/NAME/START, unless they are told to go elsewhere. */
#define IOTR_LOG_DIR "/var/log/iotracer"
#define IOTR_GROUP	  "iotracer"	   /* its members control the daemon */
#define IOTR_READ_GROUP	  "iotracer-read" /* its members list sessions and look at them */
#define IOTR_INTERFACE	  "io.iotracer"
#define IOTR_SESSION_NAME "default" /* used if no session name is given */

/* Errors in the member "error" of a reply. */
#define VARLINK_INTERFACE_NOT_FOUND "org.varlink.service.InterfaceNotFound"
#define VARLINK_METHOD_NOT_FOUND    "org.varlink.service.MethodNotFound"
#define VARLINK_INVALID_PARAMETER   "org.varlink.service.InvalidParameter"
#define VARLINK_EXPECTED_MORE	    "org.varlink.service.ExpectedMore"
#define IOTR_NO_SUCH_SESSION	    IOTR_INTERFACE ".NoSuchSession"
#define IOTR_SESSION_EXISTS	    IOTR_INTERFACE ".SessionExists"
#define IOTR_TOO_MANY_SESSIONS	    IOTR_INTERFACE ".TooManySessions"
#define IOTR_TOO_MANY_CONNECTIONS   IOTR_INTERFACE ".TooManyConnections"
#define IOTR_NO_HOOK		    IOTR_INTERFACE ".NoHook"
#define IOTR_OUTPUT_UNUSABLE	    IOTR_INTERFACE ".OutputUnusable"
#define IOTR_PERMISSION_DENIED	    IOTR_INTERFACE ".PermissionDenied"
#define IOTR_PROTOCOL_ERROR	    IOTR_INTERFACE ".ProtocolError"
#define IOTR_BAD_CONFIGURATION	    IOTR_INTERFACE ".BadConfiguration"
#define IOTR_FAILED		    IOTR_INTERFACE ".Failed"

enum {
	IOTR_MESSAGE_MAX = 1 << 20, /* bytes of a call, without the NUL */
	IOTR_MESSAGE_DEPTH = 32,    /* of nested objects and arrays */
};

/* A queue of bytes: appended at the end, consumed at the front. All zero is an empty one. */
struct iotr_buffer {
	char *data;
	size_t begin;  /* first byte not yet consumed */
	size_t length; /* bytes from there on */
	size_t capacity;
	size_t searched; /* number of these bytes that are known to contain no NUL */
};

void iotr_buffer_done(struct iotr_buffer *buffer);
int iotr_buffer_append(struct iotr_buffer *buffer, const void *bytes, size_t length);
void iotr_buffer_consume(struct iotr_buffer *buffer, size_t length);

/*
 * Gets the first complete message, without its NUL; valid until the buffer changes. The caller consumes length
 * + 1 bytes afterwards. False: there is none yet.
 */
bool iotr_buffer_message(struct iotr_buffer *buffer, const char **text, size_t *length);

/*
 * Appends a message as JSON text with a NUL. Its strings may hold any byte, as a call does that names a path of such: the
 * daemon takes them as they are.
 */
int iotr_buffer_append_json(struct iotr_buffer *buffer, struct json_object *message);

/* The same for whoever takes JSON to be UTF-8, as all readers of replies do: see escape_json(). */
int iotr_buffer_append_reply(struct iotr_buffer *buffer, struct json_object *message);

/*
 * Parses `length` bytes, which a NUL must follow. -EBADMSG: not one JSON object of bounded depth; `*why` says
 * so in words.
 */
int iotr_message_parse(const char *text, size_t length, struct json_object **ret, const char **why);

/* The array of that name among the parameters, which own it; made when it is not there yet. */
struct json_object *iotr_parameter_list(struct json_object *parameters, const char *name);

/* -ENAMETOOLONG: the path is too long for a socket address. */
int iotr_socket_address(const char *path, struct sockaddr_un *address);

// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "escape.h"
#include "json_parse.h"

enum { BUFFER_CAPACITY_MIN = 4096 };

void iotr_buffer_done(struct iotr_buffer *buffer)
{
	free(buffer->data);
	memset(buffer, 0, sizeof(*buffer));
}

/*
 * Bytes are moved to the front only if at least as many have been consumed, so that the cost per byte is
 * constant.
 */
static int buffer_reserve(struct iotr_buffer *buffer, size_t more)
{
	size_t capacity = buffer->capacity ?: BUFFER_CAPACITY_MIN;
	size_t needed;
	char *data;

	if (buffer->begin + buffer->length + more <= buffer->capacity)
		return 0;
	if (buffer->begin >= buffer->length && buffer->begin) {
		memmove(buffer->data, buffer->data + buffer->begin, buffer->length);
		buffer->begin = 0;
	}
	needed = buffer->begin + buffer->length + more;
	if (needed <= buffer->capacity)
		return 0;
	while (capacity < needed)
		capacity *= 2;
	data = realloc(buffer->data, capacity);
	if (!data)
		return -ENOMEM;
	buffer->data = data;
	buffer->capacity = capacity;
	return 0;
}

int iotr_buffer_append(struct iotr_buffer *buffer, const void *bytes, size_t length)
{
	int r = buffer_reserve(buffer, length);

	if (r < 0)
		return r;
	if (length)
		memcpy(buffer->data + buffer->begin + buffer->length, bytes, length);
	buffer->length += length;
	return 0;
}

void iotr_buffer_consume(struct iotr_buffer *buffer, size_t length)
{
	buffer->begin += length;
	buffer->length -= length;
	buffer->searched = buffer->searched > length ? buffer->searched - length : 0;
	if (!buffer->length) /* an idle connection keeps no memory */
		iotr_buffer_done(buffer);
}

bool iotr_buffer_message(struct iotr_buffer *buffer, const char **text, size_t *length)
{
	const char *begin, *end;

	if (buffer->searched == buffer->length)
		return false;
	begin = buffer->data + buffer->begin;
	end = memchr(begin + buffer->searched, '\0', buffer->length - buffer->searched);
	if (!end) {
		buffer->searched = buffer->length;
		return false;
	}
	*text = begin;
	*length = (size_t)(end - begin);
	buffer->searched = *length;
	return true;
}

static const char *message_text(struct json_object *message)
{
	return json_object_to_json_string_ext(message, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

int iotr_buffer_append_json(struct iotr_buffer *buffer, struct json_object *message)
{
	const char *text = message_text(message);

	return text ? iotr_buffer_append(buffer, text, strlen(text) + 1) : -ENOMEM;
}

int iotr_buffer_append_reply(struct iotr_buffer *buffer, struct json_object *message)
{
	const char *text = message_text(message);
	size_t length = text ? strlen(text) + 1 : 0;
	_cleanup_free_ char *escaped = NULL;

	if (!text || escape_json_copy(text, &length, &escaped) < 0)
		return -ENOMEM;
	return iotr_buffer_append(buffer, escaped ?: text, length);
}

int iotr_message_parse(const char *text, size_t length, struct json_object **ret, const char **why)
{
	_cleanup_json_ struct json_object *message = NULL;
	int r;

	*why = "the message is too long";
	if (length >= INT_MAX)
		return -EBADMSG;
	r = json_parse(text, length, IOTR_MESSAGE_DEPTH, &message, why);
	if (r < 0)
		return r;
	*why = "the message is not an object";
	if (!json_object_is_type(message, json_type_object))
		return -EBADMSG;
	*ret = TAKE(message);
	return 0;
}

struct json_object *iotr_parameter_list(struct json_object *parameters, const char *name)
{
	struct json_object *list = NULL;

	if (!json_object_object_get_ex(parameters, name, &list)) {
		list = json_object_new_array();
		json_object_object_add(parameters, name, list);
	}
	return list;
}

int iotr_socket_address(const char *path, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(address->sun_path))
		return -ENAMETOOLONG;
	strcpy(address->sun_path, path);
	return 0;
}

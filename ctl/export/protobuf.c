// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/protobuf.h"

#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

enum { VARINT_MAX = 10 };

static size_t put_varint(uint8_t *to, uint64_t value)
{
	size_t length = 0;

	for (; value >= 0x80; value >>= 7)
		to[length++] = (uint8_t)(value | 0x80);
	to[length++] = (uint8_t)value;
	return length;
}

/* A whole member, or none of it. */
static void put(struct protobuf *message, uint32_t field, enum wire wire, const uint8_t *head, size_t head_length,
		const void *rest, size_t rest_length)
{
	uint8_t key[VARINT_MAX];
	size_t key_length = put_varint(key, (uint64_t)field << 3 | wire);
	uint8_t *to = message->bytes + message->length;

	if (rest_length > PROTOBUF_MAX || key_length + head_length + rest_length > PROTOBUF_MAX - message->length) {
		message->cut = true;
		return;
	}
	memcpy(to, key, key_length);
	memcpy(to + key_length, head, head_length);
	if (rest_length)
		memcpy(to + key_length + head_length, rest, rest_length);
	message->length += key_length + head_length + rest_length;
}

void protobuf_number(struct protobuf *message, uint32_t field, uint64_t value)
{
	uint8_t number[VARINT_MAX];

	put(message, field, WIRE_VARINT, number, put_varint(number, value), NULL, 0);
}

void protobuf_fixed64(struct protobuf *message, uint32_t field, uint64_t value)
{
	uint8_t number[sizeof(value)];

	for (size_t i = 0; i < sizeof(number); i++)
		number[i] = (uint8_t)(value >> (8 * i));
	put(message, field, WIRE_FIXED64, number, sizeof(number), NULL, 0);
}

void protobuf_bytes(struct protobuf *message, uint32_t field, const void *bytes, size_t length)
{
	uint8_t size[VARINT_MAX];

	put(message, field, WIRE_BYTES, size, put_varint(size, length), bytes, length);
}

void protobuf_text(struct protobuf *message, uint32_t field, const char *text)
{
	protobuf_bytes(message, field, text, strlen(text));
}

void protobuf_message(struct protobuf *message, uint32_t field, const struct protobuf *member)
{
	message->cut |= member->cut;
	protobuf_bytes(message, field, member->bytes, member->length);
}

void protobuf_empty(struct protobuf *message)
{
	message->length = 0;
	message->cut = false;
}

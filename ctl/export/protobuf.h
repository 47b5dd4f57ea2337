/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of Protocol Buffers, member by member, into a buffer of their own. What has no room is left out, and the message
 * says so. An all-zero object is an empty message. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/text.h"

enum { PROTOBUF_MAX = 3 * EXPORT_TEXT_MAX }; /* a member or two of the longest texts, and some numbers */

struct protobuf {
	size_t length;
	bool cut;
	uint8_t bytes[PROTOBUF_MAX];
};

/* Numbers from 0 on; also enums, bools and numbers with a sign, these as two's complement. */
void protobuf_number(struct protobuf *message, uint32_t field, uint64_t value);
void protobuf_fixed64(struct protobuf *message, uint32_t field, uint64_t value);
void protobuf_bytes(struct protobuf *message, uint32_t field, const void *bytes, size_t length);
void protobuf_text(struct protobuf *message, uint32_t field, const char *text);
void protobuf_message(struct protobuf *message, uint32_t field, const struct protobuf *member);

/* Begins anew, which is quicker than to clear all of the buffer. */
void protobuf_empty(struct protobuf *message);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages in user memory, as sendmsg and recvmsg take them. */
#pragma once

#include "iovec.bpf.h"

/* The first members of the user's struct msghdr, of either ABI. */
struct message {
	__u64 name;
	__u64 name_size;
	__u64 vector;
	__u64 count;
};

static __always_inline bool message_read(__u64 user, __u32 compat, struct message *ret)
{
	__u64 words[4] = {};
	__u32 narrow[4];

	if (compat) {
		if (bpf_probe_read_user(narrow, sizeof(narrow), (void *)user))
			return false;
		*ret = (struct message){ narrow[0], narrow[1], narrow[2], narrow[3] };
		return true;
	}
	if (bpf_probe_read_user(words, sizeof(words), (void *)user))
		return false;
	*ret = (struct message){ words[0], (__u32)words[1], words[2], words[3] };
	return true;
}

/* Bytes that a message asks for; IOTR_UNKNOWN: it cannot be read. */
static __always_inline __u64 message_bytes(__u64 user, __u32 compat)
{
	struct message message;

	if (!message_read(user, compat, &message))
		return IOTR_UNKNOWN;
	return iovec_bytes(message.vector, message.count, compat);
}

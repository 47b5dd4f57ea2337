// SPDX-License-Identifier: GPL-2.0-or-later
/* Socket options: setsockopt and getsockopt. */
#include "plug.bpf.h"

#define LEVEL_TCP	 6
#define LEVEL_SCTP	 132
#define LEVEL_ALG	 279
#define LEVEL_TLS	 282
#define TCP_FASTOPEN_KEY 33
#define SCTP_AUTH_KEY	 23

static __always_inline __u32 at_most(__u32 value, __u32 most)
{
	return value > most ? most : value;
}

/* Bytes of the value: as passed to SET, as returned by GET; 0: none, or it cannot be read. */
static __always_inline __u32 length_of(const struct slot *slot, bool failed)
{
	__s32 length = slot->args[4];

	if (slot->operation == IOTR_SOCKOPT_GET &&
	    (failed || bpf_probe_read_user(&length, sizeof(length), (void *)slot->args[4])))
		return 0;
	return length < 0 ? 0 : length;
}

/* Whether the option's value is a cryptographic key, which must not appear in rows. */
static __always_inline bool is_secret(__s32 level, __s32 option)
{
	return level == LEVEL_TLS || level == LEVEL_ALG ||
	       (level == LEVEL_TCP && option == TCP_FASTOPEN_KEY) ||
	       (level == LEVEL_SCTP && option == SCTP_AUTH_KEY);
}

static __always_inline void fill_value(struct iotr_sockopt_record *row, const struct slot *slot, bool failed)
{
	__u32 size;

	row->length = length_of(slot, failed);
	size = at_most(row->length, sizeof(row->value));
	if (!bpf_probe_read_user(row->value, size, (void *)slot->args[3]))
		row->size = size;
}

static __always_inline void fill(struct iotr_sockopt_record *row, const struct slot *slot, long result)
{
	row_clear_from(row, sizeof(row->head), sizeof(*row));
	row->result = result;
	row->fd = slot->args[0];
	row->level = slot->args[1];
	row->option = slot->args[2];
	row->compat = slot->abi == IOTR_ABI_COMPAT;
	if (!is_secret(row->level, row->option))
		fill_value(row, slot, result < 0);
}

static __always_inline int sockopt_begins(struct call_context context)
{
	plug_begins(context);
	return 0;
}

static __always_inline int sockopt_ends(struct call_context context, long result)
{
	struct slot *slot = plug_ends(context, result);
	struct iotr_sockopt_record *row;

	if (!slot)
		return 0;
	row = plug_row(slot, sizeof(*row), IOTR_UNKNOWN, plug_failed(result));
	if (row) {
		fill(row, slot, result);
		row_commit(row);
	}
	plug_done(slot, context);
	return 0;
}

PLUG_PROGRAMS(SOCKOPT, sockopt, sockopt_begins, sockopt_ends)

char LICENSE[] SEC("license") = "GPL";

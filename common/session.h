/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a session is asked to be: the values that `Start` carries, parsed and checked. Plain data,
 * owned by whoever filled it in; no pointers but the strings and arrays it owns.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "events.h"

enum {
	IOTR_SESSIONS_MAX = 64,       /* bits of the mask in a record */
	IOTR_SESSION_NAME_MAX = 64,   /* bytes, without the NUL: [A-Za-z0-9_.-], not starting with '.' or '-' */
	IOTR_FILTER_VALUES_MAX = 256, /* values of one list filter of one session */
	IOTR_COMMAND_MAX = 15,        /* bytes of a command name the kernel keeps */
};

/* Which snapshots a session takes; what is not given is as the daemon is configured. */
enum {
	IOTR_SNAPSHOTS_SYSTEM = 1,
	IOTR_SNAPSHOTS_PROCESS = 2,
	IOTR_SNAPSHOTS_FILESYSTEM = 4,
	IOTR_SNAPSHOTS_ROOT = 8,
	IOTR_SNAPSHOTS_DEPTH = 16,
};

struct iotr_snapshots {
	uint32_t given;		/* bits above */
	bool system;		/* at the start */
	uint64_t process_ns;	/* at the start, and then so far apart; 0: never */
	uint64_t filesystem_ns; /* likewise */
	char root[PATH_MAX];	/* of the file system's, absolute */
	uint32_t depth;		/* levels below it */
};

#define IOTR_SNAPSHOTS_INTERVAL_MIN 1000000000ULL /* ns */
#define IOTR_SNAPSHOTS_DEPTH_MAX    65535

/* Operations of one stream. */
struct iotr_operations {
	uint64_t bits[IOTR_OPERATIONS_MAX / 64];
};

struct iotr_session_spec {
	char name[IOTR_SESSION_NAME_MAX + 1];
	uint32_t streams; /* bit per enum iotr_stream, at least one */

	/* Filters: an empty one lets everything pass; several must all pass. */
	uint32_t *pids;            /* processes (tgid) */
	size_t pid_count;
	bool tree;                 /* and the descendants of pids, from now on */
	char (*commands)[16];      /* exact command names, NUL padded to 16 bytes */
	size_t command_count;
	uint32_t *uids;
	size_t uid_count;
	uint32_t *devices;         /* kernel encoding: major << 20 | minor */
	size_t device_count;
	struct iotr_operations operations[IOTR_STREAM_COUNT]; /* all empty: no filter */
	uint64_t min_latency_ns;   /* 0: no filter */
	uint64_t min_size;         /* bytes, 0: no filter */
	bool errors;               /* only operations that failed */

	uint64_t duration_ns;      /* 0: until stopped */
	char output[PATH_MAX];     /* absolute; "" for the default place */
	struct iotr_snapshots snapshots;
};

static inline void iotr_operations_add(struct iotr_operations *operations, unsigned int operation)
{
	operations->bits[operation / 64] |= 1ULL << operation % 64;
}

static inline bool iotr_operations_have(const struct iotr_operations *operations, unsigned int operation)
{
	return operations->bits[operation / 64] >> operation % 64 & 1;
}

static inline bool iotr_operations_any(const struct iotr_operations *operations)
{
	uint64_t any = 0;

	for (size_t i = 0; i < IOTR_OPERATIONS_MAX / 64; i++)
		any |= operations->bits[i];
	return any;
}

/* Releases what the spec owns and clears it; takes an all-zero spec too. */
void iotr_session_spec_done(struct iotr_session_spec *spec);

/* Whether the bytes are a name that a session may have. */
bool iotr_session_name_valid(const char *name);

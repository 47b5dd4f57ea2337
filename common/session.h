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
	IOTR_KEEP_SEGMENTS_MAX = 1000000,
	IOTR_COMMAND_MAX = 15,        /* bytes of a command name the kernel keeps */
	IOTR_UNIT_MAX = 255,	      /* bytes of a unit's name */
	IOTR_SAMPLE_MAX = 1000000000, /* one in so many, at most */
};

/* Limits below these, and rotation more often, would be a mistake. */
#define IOTR_SIZE_MIN		     (64ULL << 10)  /* bytes, of max_size and rotate_size */
#define IOTR_ROTATE_INTERVAL_MIN_NS  100000000ULL
#define IOTR_KEEP_SIZE_MIN	     (1ULL << 20) /* the manifest, which grows with the streams, and some segments */
#define IOTR_ROTATE_SIZE_DEFAULT     (128ULL << 20)
#define IOTR_ROTATE_INTERVAL_DEFAULT 86400000000000ULL /* ns: a day */

/* Of the files. */
enum iotr_format {
	IOTR_FORMAT_CSV,
	IOTR_FORMAT_JSONL,
	IOTR_FORMAT_COUNT,
};

/* By which they are asked for, and the endings of the files' names. */
extern const char *const iotr_format_names[IOTR_FORMAT_COUNT];

/* Bytes that a flight recorder may be given. */
#define IOTR_FLIGHT_RECORDER_MIN (1ULL << 20)
#define IOTR_FLIGHT_RECORDER_MAX (4ULL << 30)

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
	char (*cgroups)[PATH_MAX]; /* below the mount of cgroup v2, or as in /proc/PID/cgroup; and all below */
	size_t cgroup_count;
	char (*units)[IOTR_UNIT_MAX + 1]; /* of systemd, with their ending */
	size_t unit_count;
	char (*paths)[PATH_MAX];   /* absolute: files, or folders with all below */
	size_t path_count;
	uint32_t sample[IOTR_STREAM_COUNT]; /* one in so many events; 0 and 1: all */
	bool pseudo_fs;            /* pseudo file systems too */

	uint64_t duration_ns;      /* 0: until stopped */
	uint64_t max_size;         /* bytes of all files, before compression; 0: no limit */
	uint64_t max_events;       /* rows of all streams; 0: no limit */
	uint64_t rotate_size;      /* bytes of a segment; 0: any */
	uint64_t rotate_interval_ns; /* 0: never by time */
	enum iotr_format format;
	bool compress;             /* closed segments, to gzip */
	unsigned int keep_segments; /* closed ones of each stream; 0: all */
	uint64_t keep_size;        /* bytes of all files together; 0: no limit */
	char output[PATH_MAX];     /* absolute; "" for the default place */
	bool anonymize;            /* names as keyed hashes */
	uint64_t flight_recorder;  /* bytes of memory that rows are kept in; 0: they go to files */
	struct iotr_snapshots snapshots;
};

/* The filters by the name of their parameter: parts of the spec that can be taken by themselves. */
enum iotr_spec_filter {
	IOTR_SPEC_PIDS, /* this order is that in which they are shown */
	IOTR_SPEC_TREE,
	IOTR_SPEC_COMMANDS,
	IOTR_SPEC_UIDS,
	IOTR_SPEC_CGROUPS,
	IOTR_SPEC_UNITS,
	IOTR_SPEC_DEVICES,
	IOTR_SPEC_PATHS,
	IOTR_SPEC_OPERATIONS,
	IOTR_SPEC_MIN_LATENCY,
	IOTR_SPEC_MIN_SIZE,
	IOTR_SPEC_ERRORS,
	IOTR_SPEC_SAMPLE,
	IOTR_SPEC_PSEUDO_FS,
	IOTR_SPEC_FILTER_COUNT,
};

/* Name of the parameter; and the filter of such a name, or -1. */
const char *iotr_spec_filter_name(enum iotr_spec_filter filter);
int iotr_spec_filter_find(const char *name);

/* Makes a filter of `to` what it is in `from`, or empty where that is NULL. -ENOMEM. */
int iotr_spec_filter_take(struct iotr_session_spec *to, const struct iotr_session_spec *from,
			  enum iotr_spec_filter filter);

/* A copy that owns what it has; on -ENOMEM it is to be released too. */
int iotr_session_spec_copy(struct iotr_session_spec *to, const struct iotr_session_spec *from);

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

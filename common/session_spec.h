/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The definition of a session: the parameters of `Start`, parsed and checked. Plain data that owns its strings
 * and arrays and contains no other pointers.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "events.h"
#include "filters.def"
#include "trigger.h"

enum {
	IOTR_SESSIONS_MAX = 64,       /* bits of a record's session mask */
	IOTR_SESSION_NAME_MAX = 64,   /* in bytes without the NUL; [A-Za-z0-9_.-], the first neither '.' nor '-' */
	IOTR_FILTER_VALUES_MAX = 256, /* limit of the values of one list filter */
	IOTR_KEEP_SEGMENTS_MAX = 1000000,
	IOTR_COMMAND_MAX = 15,        /* in bytes, as the kernel truncates longer command names */
	IOTR_UNIT_MAX = 255,	      /* in bytes */
	IOTR_SAMPLE_MAX = 1000000000, /* largest N for recording one in N events */
};

/* Lower limits of parameters: smaller values would be a mistake. */
#define IOTR_SIZE_MIN		     (64ULL << 10)  /* in bytes, for max_size and rotate_size */
#define IOTR_ROTATE_INTERVAL_MIN_NS  100000000ULL
/* In bytes: room for the manifest, which grows with the streams, and some segments. */
#define IOTR_KEEP_SIZE_MIN	     (1ULL << 20)
/* Range of the memory in which a session's rows wait for its disk, in bytes. */
#define IOTR_QUEUE_SIZE_MIN	     (1ULL << 20)
#define IOTR_QUEUE_SIZE_MAX	     (256ULL << 20)
#define IOTR_QUEUE_SIZE_DEFAULT	     (128ULL << 20)
#define IOTR_ROTATE_SIZE_DEFAULT     (128ULL << 20)
#define IOTR_ROTATE_INTERVAL_DEFAULT 86400000000000ULL /* one day in ns */

/* Format of the files with rows. */
enum iotr_format {
	IOTR_FORMAT_CSV,
	IOTR_FORMAT_JSONL,
	IOTR_FORMAT_COUNT,
};

/* Values of the parameter, which are also the endings of the files' names. */
extern const char *const iotr_format_names[IOTR_FORMAT_COUNT];

/* Range of a flight recorder's memory in bytes. */
#define IOTR_FLIGHT_RECORDER_MIN (1ULL << 20)
#define IOTR_FLIGHT_RECORDER_MAX (4ULL << 30)

/*
 * Which snapshots a session takes; parameters that were not given are taken from the daemon's configuration.
 */
enum {
	IOTR_SNAPSHOTS_SYSTEM = 1,
	IOTR_SNAPSHOTS_PROCESS = 2,
	IOTR_SNAPSHOTS_FILESYSTEM = 4,
	IOTR_SNAPSHOTS_ROOT = 8,
	IOTR_SNAPSHOTS_DEPTH = 16,
};

struct iotr_snapshots {
	uint32_t given;		/* bits from above */
	bool system;		/* at the start of the session */
	uint64_t process_ns;	/* at the start, and then at this interval; 0: never */
	uint64_t filesystem_ns; /* the same */
	char root[PATH_MAX];	/* of the walk of the file system, absolute */
	uint32_t depth;		/* number of levels below the root */
};

#define IOTR_SNAPSHOTS_INTERVAL_MIN 1000000000ULL /* in ns */
#define IOTR_SNAPSHOTS_DEPTH_MAX    65535

/* Set of operations of one stream. */
struct iotr_operations {
	uint64_t bits[IOTR_OPERATIONS_MAX / 64];
};

typedef char iotr_command_text[IOTR_COMMAND_MAX + 1]; /* padded with NULs */
typedef char iotr_path_text[PATH_MAX];
typedef char iotr_unit_text[IOTR_UNIT_MAX + 1]; /* with the ending of the unit's kind */

/*
 * The members of a filter, by its kind in filters.def: a list is an array and its length. A device is
 * major << 20 | minor; `sample` is N where one in N events is recorded, 0 and 1 record all.
 */
#define IOTR_MEMBER_LIST(name, type, count)	  type *name; size_t count;
#define IOTR_MEMBER_VALUE(name, type, count)	  type name;
#define IOTR_MEMBER_NUMBERS(name, type, count)	  IOTR_MEMBER_LIST(name, type, count)
#define IOTR_MEMBER_TEXTS(name, type, count)	  IOTR_MEMBER_LIST(name, type, count)
#define IOTR_MEMBER_DEVICES(name, type, count)	  IOTR_MEMBER_LIST(name, type, count)
#define IOTR_MEMBER_FLAG(name, type, count)	  IOTR_MEMBER_VALUE(name, type, count)
#define IOTR_MEMBER_COUNT(name, type, count)	  IOTR_MEMBER_VALUE(name, type, count)
#define IOTR_MEMBER_OPERATIONS(name, type, count) IOTR_MEMBER_VALUE(name[IOTR_STREAM_COUNT], type, count)
#define IOTR_MEMBER_SAMPLE(name, type, count)	  IOTR_MEMBER_VALUE(name[IOTR_STREAM_COUNT], type, count)
#define IOTR_FILTER_MEMBER(id, name, kind, type, count, ...) IOTR_MEMBER_##kind(name, type, count)

struct iotr_session_spec {
	char name[IOTR_SESSION_NAME_MAX + 1];
	uint32_t streams; /* bit per enum iotr_stream, at least one is set */

	/*
	 * The filters, under the names that filters.def has for them: pids and pid_count, tree, ... One that is empty, 0 or
	 * false lets everything pass; a row must pass all of them.
	 */
	IOTR_FILTERS(IOTR_FILTER_MEMBER)
	/* So many at the end of `devices` were found for others that the user named: see disk_files(). */
	size_t device_found;

	uint64_t duration_ns;      /* 0: until it is stopped */
	uint64_t max_size;         /* bytes of all files before compression; 0: no limit */
	uint64_t max_events;       /* rows of all streams; 0: no limit */
	uint64_t rotate_size;      /* bytes of a segment; 0: no limit */
	uint64_t rotate_interval_ns; /* 0: no rotation by time */
	enum iotr_format format;
	bool compress;             /* compress closed segments with gzip */
	unsigned int keep_segments; /* number of closed segments kept of each stream; 0: all */
	uint64_t keep_size;        /* bytes of all files together; 0: no limit */
	uint64_t queue_size;       /* bytes of rows that wait for the disk; 0: as the daemon is configured */
	char output[PATH_MAX];     /* absolute; "": the default folder */
	bool anonymize;            /* replace names by keyed hashes */
	bool anonymize_host;       /* use the host's key, not one of the session's own */
	uint64_t flight_recorder;  /* bytes of memory in which rows are kept; 0: they are written to files */
	struct iotr_snapshots snapshots;
	/* What a flight recorder is dumped on, and any other session waits for before it records; and what ends it. */
	struct iotr_trigger triggers[IOTR_TRIGGERS_MAX], stops[IOTR_TRIGGERS_MAX];
	size_t trigger_count, stop_count;
	uint64_t hold_off_ns; /* time after a trigger in which it does not act again; 0: there is no trigger */
	char *declared; /* definition as a file has it, as JSON without filters; NULL: a client started it */
};

/* Filters by the names of their parameters: the parts of a spec that can be copied separately. */
enum iotr_spec_filter {
#define IOTR_SPEC_FILTER(id, ...) IOTR_SPEC_##id,
	IOTR_FILTERS(IOTR_SPEC_FILTER)
	IOTR_SPEC_FILTER_COUNT,
};
_Static_assert((int)IOTR_SPEC_FILTER_COUNT <= 32, "sets of filters are 32 bits");

/* Name of the filter's parameter; and the filter of that name, or -1. */
const char *iotr_spec_filter_name(enum iotr_spec_filter filter);
int iotr_spec_filter_find(const char *name);

/* Whether the filter is set: an empty one lets everything pass. */
bool iotr_spec_filter_given(const struct iotr_session_spec *spec, enum iotr_spec_filter filter);

/* Whether the session records nothing until one of its triggers acts. */
static inline bool iotr_spec_waits(const struct iotr_session_spec *spec)
{
	return spec->trigger_count && !spec->flight_recorder;
}

/* Whether the filters need forks, ends of processes, or new cgroups to be seen. */
static inline bool iotr_spec_follows_processes(const struct iotr_session_spec *spec)
{
	return spec->tree || spec->unit_count;
}

/* Whether the filters judge by the task whose event it is. */
static inline bool iotr_spec_filters_tasks(const struct iotr_session_spec *spec)
{
	return spec->pid_count || spec->command_count || spec->uid_count || spec->cgroup_count || spec->unit_count;
}

/* Copies a filter from `from`, or clears it if that is NULL. -ENOMEM. */
int iotr_spec_filter_take(struct iotr_session_spec *to, const struct iotr_session_spec *from,
			  enum iotr_spec_filter filter);

/* Makes a copy that owns its strings and arrays; it must be released even on -ENOMEM. */
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

/* Releases what the spec owns and clears it; takes an all-zero spec as well. */
void iotr_session_spec_done(struct iotr_session_spec *spec);

/* Whether the text is a valid name of a session. */
bool iotr_session_name_valid(const char *name);

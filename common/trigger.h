/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trigger of a session, parsed: a line that something of the machine must not cross. Plain data. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	IOTR_TRIGGERS_MAX = 8,	     /* of a session and of each kind: to begin or to dump, and to stop */
	IOTR_TRIGGER_TEXT_MAX = 160, /* in bytes */
	IOTR_TRIGGER_UNIT_MAX = 128, /* in bytes, of a unit's name */
};

#define IOTR_TRIGGER_FOR_MAX_NS	    3600000000000ULL   /* an hour */
#define IOTR_TRIGGER_LATENCY_MAX_NS 300000000000ULL    /* five minutes, which histograms tell apart from what is longer */
#define IOTR_TRIGGER_RATE_MAX	    1000000000ULL      /* a second */
#define IOTR_HOLD_OFF_MIN_NS	    1000000000ULL      /* a second, which is how often triggers are looked at */
#define IOTR_HOLD_OFF_MAX_NS	    604800000000000ULL /* a week */
#define IOTR_HOLD_OFF_DEFAULT_NS    300000000000ULL    /* five minutes */

enum iotr_trigger_source {
	IOTR_TRIGGER_OPERATION, /* how long an operation takes, how often it ends, and how often it fails */
	IOTR_TRIGGER_PRESSURE,	/* share of time in which tasks wait: pressure stall information */
	IOTR_TRIGGER_UNIT,	/* the state of a systemd unit */
	IOTR_TRIGGER_LOST,	/* rows that the session has lost */
};

enum iotr_trigger_measure {
	IOTR_MEASURE_PERCENTILE, /* of latencies, ns; as the three that follow: over the last second */
	IOTR_MEASURE_MAX,
	IOTR_MEASURE_MEAN,
	IOTR_MEASURE_RATE, /* operations that ended, a second */
	IOTR_MEASURE_ERRORS, /* of these, those that failed */
	IOTR_MEASURE_ERRNO, /* of these, those with one error */
};

enum iotr_pressure { IOTR_PRESSURE_CPU, IOTR_PRESSURE_MEMORY, IOTR_PRESSURE_IO, IOTR_PRESSURE_COUNT };

struct iotr_trigger {
	char text[IOTR_TRIGGER_TEXT_MAX + 1]; /* as it was given */
	enum iotr_trigger_source source;
	uint64_t above;	 /* it holds when the value is larger: ns, a number per second, or hundredths of a percent */
	uint64_t for_ns; /* it has to hold so long; 0: one second's value is enough */
	/* OPERATION */
	uint8_t stream; /* enum iotr_stream: vfs or block */
	uint8_t operation;
	enum iotr_trigger_measure measure;
	unsigned int permille; /* of PERCENTILE: 990 for p99 */
	int error;	       /* of ERRNO, positive */
	/* PRESSURE */
	enum iotr_pressure pressure;
	bool full;	      /* all tasks wait, not only some */
	unsigned int average; /* seconds that it is averaged over: 10, 60 or 300; 0: over the last second */
	/* UNIT */
	char unit[IOTR_TRIGGER_UNIT_MAX + 1];
	char state[16]; /* ActiveState of systemd */
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pressure stall information of the machine, /proc/pressure. Main thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trigger.h"

/* Of one resource, for some and for all tasks: index `full`. */
struct pressure {
	uint64_t total_us[2];	     /* in which tasks have waited, since the machine started */
	unsigned int average[2][3]; /* over 10, 60 and 300 s, in hundredths of a percent */
};

/* 0 or a negative errno: the kernel may have none of it. */
int pressure_read(enum iotr_pressure of, struct pressure *ret);

/* The same from the text of its file. -EBADMSG: it is no such text. */
int pressure_parse(const char *text, struct pressure *ret);

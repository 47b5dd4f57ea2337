/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Triggers as users write them. Words are separated by blanks, which may be left out around '>':
 *
 *     STREAM.OPERATION pN|max|mean > TIME        vfs.FSYNC p99 > 50ms        (vfs and block)
 *     STREAM.OPERATION rate|errors|ERRNO > N/s   vfs.OPEN ENOSPC > 0/s
 *     pressure.cpu|memory|io some|full [avg10|avg60|avg300] > N%
 *     unit NAME STATE                            unit nginx.service failed
 *     lost > N/s                                 rows of the session itself
 *
 * and each may end with `for TIME`. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "trigger.h"

/* Parses the text. -EINVAL: error->message names the word that is wrong, and what may stand there. */
int trigger_parse(const char *text, struct iotr_trigger *ret, struct engine_error *error);

/* Writes a value that a trigger measured as its limit is written, as in "61.2ms", "12/s", "23.50%". Returns `text`. */
char *trigger_format(const struct iotr_trigger *trigger, uint64_t value, char *text, size_t size);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options of sockets to text: their names and levels up to those of Linux 7.2, and their values.
 * Constant tables, usable from any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

enum {
	SOCKOPTS_TEXT_MAX = 4 * IOTR_SOCKOPT_VALUE, /* bytes: text of which every byte is escaped */
};

/* The name, or NULL where there is none. */
const char *sockopts_level(int32_t level);
const char *sockopts_name(int32_t level, int32_t number);

/*
 * Writes the value that a record carries, at most SOCKOPTS_TEXT_MAX bytes, and returns how many;
 * the bytes after them are undefined.
 */
size_t sockopts_value(const struct iotr_sockopt_record *record, char *text);

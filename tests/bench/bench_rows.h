/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of the vfs stream as a database makes them, and their names, always the same: 16 threads on
 * CPUs of their own, in runs of 16 rows, mostly reads and writes of four files each; one row in
 * eight opens, closes, looks, maps or renames, and some of those fail.
 */
#pragma once

#include <stdint.h>

#include "record.h"

enum { ROWS_FILES = 1000 };

/* Row `number`, wanted by `sessions`. */
void rows_make(struct iotr_vfs_record *record, uint64_t number, uint64_t sessions);

/* Hands over the names that the rows refer to, parents first. */
void rows_names(void (*take)(void *userdata, const struct iotr_name_record *record, uint32_t size),
		void *userdata);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values of a row as texts, one after the other, each with a NUL behind it: for live views. Any thread. */
#pragma once

#include <stddef.h>

#include "cells/cells.h"

/*
 * Writes the texts of all columns to `out`, which has room for format_csv_bound() bytes, and returns how many it
 * wrote.
 */
size_t format_fields(const struct cell *cell, size_t count, char *out);

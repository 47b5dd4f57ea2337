/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The golden files tests/golden/STREAM.ENDING: rows as a test must make them. They are compared by column name. A column
 * of the catalogue that a file does not have yet is printed and left out, so that a new column fails no test; the target
 * `columns` of the build adds it to the files. All else must be equal to the byte: each cell, the order of the columns,
 * and a file's columns must all be there.
 *
 * IOTRACER_UPDATE_GOLDEN=columns adds columns to files that are right otherwise; IOTRACER_UPDATE_GOLDEN=all writes the
 * files anew, and what changed is for a reader of the diff to judge.
 */
#pragma once

#include <stdint.h>

#include "anonymize.h"
#include "schema.h"

/* Size of the text of a file, with its NUL. */
enum { GOLDEN_SIZE = 65536 };

/* The anonymiser of all golden files, and its key. The caller frees it. */
struct iotr_anonymizer *golden_anonymizer(uint8_t key[IOTR_ANONYMIZE_KEY_SIZE]);

/* Reads the stream's rows in CSV, with all columns of the catalogue: those that the file lacks are empty. */
void golden_read_csv(enum iotr_stream stream, char text[GOLDEN_SIZE]);

/* Fails the test if `actual` is not what the file has. The ending is one of CSV, or ".jsonl". */
void golden_compare(enum iotr_stream stream, const char *ending, const char *actual);

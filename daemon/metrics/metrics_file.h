/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file for the textfile collector of node exporter. A thread of its own writes it, as its disk may hang; who reads it finds the
 * whole text of one time. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct metrics_file;

/* Begins to write the text, which it frees. NULL: that is not possible. */
struct metrics_file *metrics_file_write(const char *path, char *text, size_t length);

/* Whether it has ended, and then, as an errno, why the file is not there; 0: it is. */
bool metrics_file_done(struct metrics_file *file, int *error);

/* Waits for nothing: where the thread still works, it frees all when it ends. Takes NULL. */
void metrics_file_free(struct metrics_file *file);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One daemon per runtime folder: the folder, and the lock in it. Main thread only. */
#pragma once

/* Creates the folder with mode 0755, and its parents. An existing folder stays as it is. */
int instance_make_folder(const char *path);

/* Locks the folder until `*lock` is closed. -EADDRINUSE: another daemon holds the lock. */
int instance_lock(const char *folder, int *lock);

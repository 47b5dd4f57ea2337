/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One daemon for each runtime folder and each state folder: the folders, and their locks. Main thread only. */
#pragma once

/* Creates the folder with mode 0755, and its parents. An existing folder stays as it is. */
int instance_make_folder(const char *path);

/* Locks the folder until `*lock` is closed. -EADDRINUSE: another daemon holds the lock. */
int instance_lock(const char *folder, int *lock);

/*
 * Locks the state folder until `*lock` is closed; makes it first, with mode 0700, but not its parents. The folder itself is
 * locked and no file in it, so that it may be the runtime folder, too. -EADDRINUSE: another daemon holds the lock.
 */
int instance_lock_state(const char *folder, int *lock);

/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Opens a folder within another one, after making it if it does not exist. Returns -1 on an error, which has
 * been printed.
 */
int anonymize_folder(int parent_fd, const char *name);

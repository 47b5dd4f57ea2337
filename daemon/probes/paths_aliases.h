/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Other paths to what a path filter names: through other mounts of its file system, and through symbolic links that stand in the
 * folders above it, in / or in /var. Calls that name a file by path are judged by the text of the path, so each of these is
 * known to the kernel side. Links elsewhere, and what is made later, are not found.
 */
#pragma once

/* `real`: a path without links. Calls `found` for each other one; its result ends the search if it is negative, and is returned. */
int paths_aliases(const char *real, int (*found)(const char *path, void *userdata), void *userdata);

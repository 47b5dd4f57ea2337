/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths below a root that is not the one of the process, as openat2(2) has them with RESOLVE_IN_ROOT: a service that may make
 * no set-user-ID files (RestrictSUIDSGID=) is refused that call. Any thread, with the rights that it has.
 */
#pragma once

/*
 * Opens like open(2), for this process alone (O_CLOEXEC), and makes nothing: no O_CREAT. `root`: a folder (O_PATH is enough),
 * where the path begins, with a slash or without; symbolic links with a slash begin there, too, and ".." does not lead above
 * it. The links of /proc that are no text (of /proc/PID/cwd, say) are taken as the text that they show. -1 with errno.
 */
int rooted_open(int root, const char *path, int flags);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the machine is called. The service has a copy of the name of its own (ProtectHostname=), made when it was started, so there
 * the daemon is told of changes (host_watch.h). Any thread.
 */
#pragma once

enum { HOST_NAME_SIZE = 65 }; /* that of struct utsname's, with the NUL */

/* The name that was set last, or else that of this process. */
void host_name(char name[HOST_NAME_SIZE]);

/* One that is too long is cut, as the kernel has none. */
void host_name_set(const char *name);

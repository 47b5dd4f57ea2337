/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's file systems as the machine has them mounted: the service's sandbox has others, which show less. */
#pragma once

/*
 * A descriptor of the machine's root folder (O_PATH), that of process 1, for the caller to close. It is opened with the daemon's
 * own rights, and what is below it with those of the thread. Where it cannot be had it is the root that is seen here. -1: errno.
 */
int machine_root(void);

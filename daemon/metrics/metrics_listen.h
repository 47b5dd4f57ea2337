/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The socket at which metrics are asked for. The service has neither the machine's network nor sockets of the internet: there, a
 * process outside of it opens the socket, and hands it over. Without its unit the daemon opens one itself.
 */
#pragma once

#include <netinet/in.h>

#define METRICS_LISTEN_OPTION "--listen" /* has this program be that process, for the socket that is its standard input */

/*
 * Returns a socket that listens at the address, for the caller to close; -EAFNOSUPPORT: the daemon may open none, and its unit
 * is not there; or another negative errno. Waits for the process, for METRICS_LISTEN_S at most. Main thread.
 */
int metrics_listen(const struct sockaddr_in *address);

enum { METRICS_LISTEN_S = 5 };

/* The main function of the process, which opens sockets of this machine alone; returns its exit status. */
int metrics_listen_main(void);

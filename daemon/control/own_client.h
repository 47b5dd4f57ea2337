/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clients that are programs of iotracer: what they do for it is left out of what is recorded. Which they are says the
 * executable, iotracectl as it is installed beside the daemon (or built beside it): a number or a name anybody can have. All
 * other processes are recorded, connected or not. Main thread.
 */
#pragma once

struct control;
struct own_client;

/*
 * What the process at the other end of the connection does makes no rows from now on, until it ends or this is freed. NULL:
 * it is another program, or nobody can say which.
 */
struct own_client *own_client_new(struct control *control, int fd);
void own_client_free(struct own_client *client); /* takes NULL */

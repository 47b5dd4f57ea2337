// SPDX-License-Identifier: GPL-2.0-or-later
#include "host_name.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/utsname.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char told[HOST_NAME_SIZE]; /* "": nothing was */

void host_name(char name[HOST_NAME_SIZE])
{
	struct utsname own = { 0 };

	uname(&own);
	pthread_mutex_lock(&lock);
	snprintf(name, HOST_NAME_SIZE, "%s", *told ? told : own.nodename);
	pthread_mutex_unlock(&lock);
}

void host_name_set(const char *name)
{
	pthread_mutex_lock(&lock);
	snprintf(told, sizeof(told), "%s", name);
	pthread_mutex_unlock(&lock);
}

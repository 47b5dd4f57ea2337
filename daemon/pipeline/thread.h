/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <pthread.h>

/* A thread that takes no signals, which are for the main thread. 0 or a negative errno. */
int thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument);

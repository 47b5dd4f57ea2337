/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <pthread.h>

/* Starts a thread that receives no signals, which are for the main thread. Returns 0 or a negative errno. */
int thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument);

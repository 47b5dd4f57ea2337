/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the sources that implement functions.h. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/functions.h"

/* In the order of attachment: an entry program without its exit program would leave a slot in use. */
enum side {
	SIDE_EXIT,
	SIDE_ENTER,
	SIDE_COUNT,
};

struct function {
	int programs[SIDE_COUNT]; /* descriptors of them and of the links; -1: none */
	int links[SIDE_COUNT];
	const struct bpf_program *inner_program; /* NULL: the function is that of a system call */
	int error; /* negative errno, or 0: of the last attempt to attach it */
};

struct functions {
	pthread_t thread; /* owns the links */
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	_Atomic uint32_t order;	 /* number of the last order */
	_Atomic uint32_t done;	 /* number of the last one that was carried out */
	_Atomic size_t reached;	 /* with the last order: so many of those that it is about are attached, or could not be */
	_Atomic enum functions_extent extent; /* what it is about */
	_Atomic bool quit, loaded, refused; /* refused: those of system calls could not be loaded */
	bool busy;    /* the thread attaches or detaches; with the lock */
	bool copies;  /* those of system calls are there, loaded or taken */
	bool adopted; /* hooks that an earlier daemon has attached */
	int notice; /* eventfd: an order was carried out, or the inner hooks are attached */
	size_t sources; /* the first of the inner ones, which tell where datagrams come from */
	size_t inner; /* the first of `all`, inside of calls, whose programs are not owned; then those of system calls */
	_Atomic size_t count; /* of `all` */
	struct function all[];
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a keeper's thread leaves to everybody else while it compresses. It begins with what nobody else takes of CPU and
 * disk. On a machine that is never idle that is nothing, or next to it: mq-deadline lets a request of the idle class
 * wait for ten seconds while there are others, and text that stays uncompressed takes ten times the room. So a segment
 * that has waited for REST_PATIENCE_NS goes on behind everybody else, and gets a share.
 *
 * Each function is about the thread that calls it, unless stated otherwise.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define REST_PATIENCE_NS 5000000000ULL

enum rest {
	REST_NOT,    /* as any other thread of the daemon */
	REST_BEHIND, /* the least share that is one: nice 19, and the last of the best effort class of the disk */
	REST_IDLE,   /* SCHED_IDLE, and the idle class of the disk */
};

/* For a segment that was closed at `closed_ns`, of CLOCK_REALTIME. */
enum rest rest_of_segment(uint64_t closed_ns);

/* From REST_NOT to one of the others, and back. The way back takes RLIMIT_NICE, which manager.c sets. */
void rest_cpu(enum rest rest);
void rest_disk(enum rest rest);

/* Has another thread, which is to be waited for, compute as REST_NOT. */
void rest_ends(pid_t thread);

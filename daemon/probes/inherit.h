/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the last daemon of the service leaves loaded for the next one: the kernel takes seconds to verify all programs. Programs,
 * maps and the copies of functions.h go through the service manager, see bequest.h; hooks on functions, which take long to attach
 * and much longer to detach, through the process of leave_behind.h. A daemon of another build, level or kernel takes nothing.
 *
 * Maps and row rings are emptied on the way, so that what is inherited is as if it had been made anew; but what the control page
 * has of the kernel stays.
 * What is not there, or incomplete, is loaded. By the one thread that loads.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>

#include "probes/bequest.h"
#include "probes/probes_private.h"

/* Owners of names in the bequest, beside the objects, whose programs have theirs. */
enum {
	INHERIT_MAPS = OBJECT_COUNT,
	INHERIT_COPIES,
};

/* What must be the same in both daemons, with the level known; what else programs depend on is the kernel's, which is the same one. */
void inherit_key(const struct probes *probes, char key[BEQUEST_KEY_MAX]);

/* Whether what is there, which stays there, was left by a daemon like this one at that level, before this one's is known. */
bool inherit_is_of(const struct probes *probes, int bequest, enum probes_level level);

/* Receives what is there, with the level known; see struct probes_config. Failures are logged, and then everything is loaded. */
void inherit_begin(struct probes *probes, int bequest, int hooks);

/*
 * Whether programs of the object are there, and, if any are, whether that one is: those that are not, the last daemon has not chosen.
 */
bool inherit_any(const struct probes *probes, enum object which);
bool inherit_has(const struct probes *probes, enum object which, const struct bpf_program *program);

/*
 * Takes an object's programs; `object` is open, its programs are chosen, and its maps are inherited. -ENOENT: not all of them
 * are there, and the object is as it was.
 */
int inherit_object(struct probes *probes, enum object which, struct bpf_object *object);

/*
 * Whether each of the object's maps that is there is of its kind and size: who forged what the service manager holds may
 * have put others under their names.
 */
bool inherit_fits(const struct probes *probes, const struct bpf_object *object);

/* The map of that name, which is empty, for bpf_map__reuse_fd(); -1: there is none. */
int inherit_map(const struct probes *probes, const char *name);

/*
 * Takes the row rings, which are in their map: `count` of so many bytes. False: they are not there, or are others, and none is
 * taken.
 */
bool inherit_rings(const struct probes *probes, int *rings, size_t count, uint32_t bytes);

/* The name of one in the bequest, among the maps. */
void inherit_ring_name(char name[BEQUEST_NAME_MAX], size_t ring);

/* For functions_take(), which is for those who have inherited OBJECT_FUNCTIONS; `userdata`: struct probes. */
int inherit_copy(const char *name, void *userdata);

/* When all is loaded or nobody loads any more: lets go of what was not taken. */
void inherit_end(struct probes *probes);

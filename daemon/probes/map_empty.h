/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Empties a map, given by its descriptor: it has no entries then or, where entries are always there, all their bytes are 0.
 * What is in a ring is passed over, as if it had been read. Tables of programs stay as they are, and so do maps in maps: the kernel
 * would wait for each until no program can see it, and before 6.8 also where there is none. 0 or a negative errno. Any thread.
 */
int map_empty(int map);

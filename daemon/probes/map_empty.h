/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Empties a map, given by its descriptor: it has no entries then or, where entries are always there, all their bytes are 0.
 * Rings and tables of programs stay as they are. 0 or a negative errno. Any thread.
 */
int map_empty(int map);

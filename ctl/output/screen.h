/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The whole terminal, drawn by ncurses, which writes only what has changed. Text of others cannot reach it raw: what is
 * not printable is shown as '?'. One thread, one screen.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { SCREEN_NO_KEY = -1, SCREEN_RESIZED = -2, SCREEN_UP = -3, SCREEN_DOWN = -4, SCREEN_PAGE_UP = -5,
       SCREEN_PAGE_DOWN = -6, SCREEN_HOME = -7, SCREEN_ERASE = -8, SCREEN_OTHER = -9 };

/* Takes over the terminal. False: stdin or stdout is none, or it cannot move its cursor; nothing was done to it then. */
bool screen_open(void);
void screen_close(void); /* gives it back; does nothing when it was not taken */

int screen_width(void);	 /* in columns */
int screen_height(void); /* in lines */

/*
 * Draws lines that begin at `text`, UTF-8 with sequences of style() in it: the first `fixed` ones stay at the top, the last
 * of them as a heading; below, those after the next `skip` ones, as many as there is room for; and `bottom` in the last
 * line. Lines that are too long are cut. Returns the number of lines of `text`.
 */
size_t screen_draw(const char *text, size_t fixed, size_t skip, const char *bottom);

/* The next key that was pressed: a character, or one of the values above; never waits. */
int screen_key(void);

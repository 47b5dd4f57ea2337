// SPDX-License-Identifier: GPL-2.0-or-later
#define NCURSES_WIDECHAR 1
#include "output/screen.h"

#include <curses.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>
#include <wchar.h>

#include "output/text.h"

enum { ESCAPE_MS = 25 /* after which ESC is a key by itself */ };

static SCREEN *screen;

/* The terminal is asked before anything is written to it. */
static bool can_move_cursor(void)
{
	int status;
	const char *move;

	if (setupterm(NULL, STDOUT_FILENO, &status) != OK)
		return false;
	move = tigetstr("cup");
	return move && move != (char *)-1;
}

static void use_colours(void)
{
	if (getenv("NO_COLOR") || !has_colors())
		return;
	start_color();
	use_default_colors();
	init_pair(STYLE_GOOD, COLOR_GREEN, -1);
	init_pair(STYLE_BAD, COLOR_RED, -1);
}

bool screen_open(void)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !can_move_cursor())
		return false;
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return false;
	use_colours();
	cbreak();
	noecho();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	return true;
}

void screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

int screen_width(void)
{
	return COLS;
}

int screen_height(void)
{
	return LINES;
}

static void set_style(enum style kind)
{
	switch (kind) {
	case STYLE_PLAIN:
		attrset(A_NORMAL);
		break;
	case STYLE_BOLD:
		attron(A_BOLD);
		break;
	default:
		if (has_colors())
			attron(COLOR_PAIR(kind));
	}
}

/* The length of the sequence of style() that the text begins with, which is in force from then on; 0: of none. */
static size_t take_style(const char *text)
{
	for (int kind = STYLE_PLAIN; kind <= STYLE_BAD; kind++) {
		const char *sequence = style_sequence((enum style)kind);

		if (!strncmp(text, sequence, strlen(sequence))) {
			set_style((enum style)kind);
			return strlen(sequence);
		}
	}
	return 0;
}

/* Draws one character at the cursor, if there is room in the columns that are left. Returns its columns; -1: no room. */
static int draw_character(wchar_t character, int room)
{
	int width = text_columns(character);
	wchar_t text[2] = { character, 0 };

	if (width < 0) {
		text[0] = L'?';
		width = 1;
	}
	if (width > room)
		return -1;
	addnwstr(text, 1);
	return width;
}

/* Draws the line up to its end in the text, cut at the screen's border. */
static void draw_line(int y, const char *text, const char *end)
{
	int room = COLS;

	move(y, 0);
	while (text < end) {
		size_t length = take_style(text);
		wchar_t character;
		int width;

		if (length) {
			text += length;
			continue;
		}
		length = text_character(text, (size_t)(end - text), &character);
		width = draw_character(character, room);
		if (width < 0)
			break;
		room -= width;
		text += length;
	}
}

/* A heading reaches from border to border. */
static void draw_heading(int y, const char *text, const char *end)
{
	attrset(A_NORMAL);
	draw_line(y, text, end);
	attrset(A_NORMAL);
	mvchgat(y, 0, -1, A_REVERSE, 0, NULL);
}

size_t screen_draw(const char *text, size_t fixed, size_t skip, const char *bottom)
{
	size_t count = 0;
	int y = 0;

	if (!screen)
		return 0;
	erase();
	attrset(A_NORMAL);
	for (; *text; count++) {
		const char *end = strchrnul(text, '\n');

		if (y < LINES - 1 && (count < fixed || count >= fixed + skip)) {
			if (count + 1 == fixed)
				draw_heading(y++, text, end);
			else
				draw_line(y++, text, end);
		}
		text = *end ? end + 1 : end;
	}
	draw_heading(LINES - 1, bottom, bottom + strlen(bottom));
	refresh();
	return count;
}

static int special(wint_t key)
{
	switch (key) {
	case KEY_RESIZE:
		return SCREEN_RESIZED;
	case KEY_UP:
		return SCREEN_UP;
	case KEY_DOWN:
		return SCREEN_DOWN;
	case KEY_PPAGE:
		return SCREEN_PAGE_UP;
	case KEY_NPAGE:
		return SCREEN_PAGE_DOWN;
	case KEY_HOME:
		return SCREEN_HOME;
	case KEY_BACKSPACE:
		return SCREEN_ERASE;
	case KEY_ENTER:
		return '\n';
	default:
		return SCREEN_OTHER;
	}
}

int screen_key(void)
{
	wint_t key;

	switch (get_wch(&key)) {
	case KEY_CODE_YES:
		return special(key);
	case OK:
		return key == 0x7f || key == '\b' ? SCREEN_ERASE : (int)key;
	default:
		return SCREEN_NO_KEY;
	}
}

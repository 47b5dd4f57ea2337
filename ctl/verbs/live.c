// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/live.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cleanup.h"
#include "output/interrupt.h"
#include "output/json.h"
#include "output/screen.h"
#include "output/text.h"
#include "request/request.h"

enum { KEY_ESCAPE = 27, BORDERS = 1 /* lines that no picture has: the one with the keys */ };

void live_begin(struct live *live, bool screen)
{
	live->wanted = screen;
	interrupt_catch();
}

static void take_screen(struct live *live)
{
	live->wanted = false;
	live->screen = screen_open();
	if (live->screen)
		interrupt_block_resize();
}

void live_end(struct live *live)
{
	if (live->screen)
		screen_close();
	free(live->text);
	live->text = NULL;
	json_object_put(live->shown);
	live->shown = NULL;
}

int live_width(const struct live *live)
{
	return live->screen ? screen_width() : 0;
}

/* Not beyond the last page. */
static size_t limit(size_t lines, size_t skip)
{
	int height = screen_height() - BORDERS;
	size_t room = height > 0 ? (size_t)height : 0;

	if (lines <= room)
		return 0;
	return skip < lines - room ? skip : lines - room;
}

static void draw_screen(struct live *live)
{
	char bottom[LIVE_HELP_MAX + LIVE_FILTER_MAX + 32];
	size_t lines, skip;

	if (live->typing)
		snprintf(bottom, sizeof(bottom), "filter: %s_   Enter: done, Esc: none", live->filter);
	else
		snprintf(bottom, sizeof(bottom), "%sq quit  p %s  %s%s%s", live->paused ? "PAUSED  " : "",
			 live->paused ? "go on" : "pause", live->help, *live->filter ? "  only: " : "", live->filter);
	lines = screen_draw(live->text, live->fixed, live->skip, bottom);
	skip = limit(lines, live->skip);
	if (skip != live->skip) {
		live->skip = skip;
		screen_draw(live->text, live->fixed, live->skip, bottom);
	}
}

/* Returns whether there was memory for it. */
static bool make_picture(struct live *live)
{
	FILE *picture;

	if (live->wanted)
		take_screen(live);
	free(live->text);
	live->text = NULL;
	picture = open_memstream(&live->text, &live->size);
	if (!picture)
		return false;
	style_picture(live->screen ? picture : NULL);
	live->fixed = live->print(live, live->shown, picture);
	style_picture(NULL);
	return !fclose(picture) && live->text;
}

bool live_draw(struct live *live)
{
	if (!live->shown)
		return true;
	if (live->context->json) {
		print_json(live->shown);
		return !fflush(stdout) && !ferror(stdout);
	}
	if (!make_picture(live))
		return false;
	if (live->screen) {
		draw_screen(live);
		return true;
	}
	if (live->again)
		putchar('\n');
	live->again = true;
	fputs(live->text, stdout);
	return !fflush(stdout) && !ferror(stdout);
}

bool live_take(struct live *live, struct json_object *reply)
{
	if (live->paused || (live->member && !member_of(reply, live->member)))
		return true;
	json_object_put(live->shown);
	live->shown = json_object_get(reply);
	return live_draw(live);
}

int live_receive(struct live *live, struct connection *connection, bool *last)
{
	_cleanup_json_ struct json_object *reply = NULL;
	int code = request_next(live->context, connection, &reply, last);

	if (code == EXIT_DONE && reply)
		*last |= !live_take(live, reply);
	return code;
}

bool live_passes(const struct live *live, const char *text)
{
	return !*live->filter || strcasestr(text, live->filter);
}

static void erase_last(char *text)
{
	size_t length = strlen(text);

	while (length && (text[length - 1] & 0xc0) == 0x80)
		length--;
	if (length)
		text[length - 1] = '\0';
	else
		*text = '\0';
}

static void append(char *text, wchar_t character)
{
	char bytes[MB_LEN_MAX];
	mbstate_t state = { 0 };
	size_t length = wcrtomb(bytes, character, &state), at = strlen(text);

	if (length == (size_t)-1 || at + length >= LIVE_FILTER_MAX)
		return;
	memcpy(text + at, bytes, length);
	text[at + length] = '\0';
}

/* A key while a filter is typed. */
static enum live_event type(struct live *live, int key)
{
	if (key == '\n' || key == '\r' || key == KEY_ESCAPE)
		live->typing = false;
	if (key == KEY_ESCAPE)
		*live->filter = '\0';
	else if (key == SCREEN_ERASE)
		erase_last(live->filter);
	else if (key >= ' ')
		append(live->filter, (wchar_t)key);
	live->skip = 0;
	return LIVE_DRAW;
}

/* Whether it was a key that scrolls. */
static bool scroll(struct live *live, int key)
{
	int page = screen_height() - BORDERS - (int)live->fixed;
	size_t by = key == SCREEN_PAGE_UP || key == SCREEN_PAGE_DOWN ? (size_t)(page > 1 ? page : 1) : 1;

	switch (key) {
	case SCREEN_UP:
	case SCREEN_PAGE_UP:
		live->skip -= by < live->skip ? by : live->skip;
		return true;
	case SCREEN_DOWN:
	case SCREEN_PAGE_DOWN:
		live->skip += by;
		return true;
	case SCREEN_HOME:
		live->skip = 0;
		return true;
	default:
		return false;
	}
}

static enum live_event take_key(struct live *live, int key)
{
	if (key == SCREEN_RESIZED)
		return LIVE_DRAW;
	if (live->typing)
		return type(live, key);
	if (key == 'q')
		return LIVE_END;
	if (scroll(live, key))
		return LIVE_DRAW;
	if (key == 'p' || key == ' ') {
		live->paused = !live->paused;
		return LIVE_DRAW;
	}
	if (key == '/' && live->filters) {
		live->typing = true;
		return LIVE_DRAW;
	}
	live->key = key;
	return LIVE_KEY;
}

enum live_event live_wait(struct live *live, struct connection *connection, uint64_t ns)
{
	int key, fd = connection ? connection->fd : -1;
	enum interrupt_event event;

	if (connection && connection_pending(connection))
		return LIVE_REPLY;
	do {
		if (live->screen && (key = screen_key()) != SCREEN_NO_KEY)
			return take_key(live, key);
		event = interrupt_wait(live->screen, fd, ns);
	} while (event == INTERRUPT_KEY);
	switch (event) {
	case INTERRUPT_REPLY:
		return LIVE_REPLY;
	case INTERRUPT_TIME:
		return LIVE_TIME;
	default:
		return LIVE_END;
	}
}

int live_follow(struct live *live, struct connection *connection)
{
	int code = EXIT_DONE;
	bool last = false;

	while (code == EXIT_DONE && !last) {
		switch (live_wait(live, connection, 0)) {
		case LIVE_REPLY:
			code = live_receive(live, connection, &last);
			break;
		case LIVE_END:
			last = true;
			break;
		default:
			last = !live_draw(live);
		}
	}
	return code;
}

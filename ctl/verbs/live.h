/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A live view: pictures of text, each of which replaces the one before. On a terminal it has the whole screen and takes
 * keys; elsewhere pictures are printed below each other. One thread, one view.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct connection;

enum {
	LIVE_FILTER_MAX = 64, /* bytes of what is filtered for, with a NUL */
	LIVE_HELP_MAX = 256,
};

enum live_event {
	LIVE_REPLY, /* the daemon has sent something */
	LIVE_TIME,  /* the time is over */
	LIVE_DRAW,  /* the picture is to be made again: another size, or another filter */
	LIVE_KEY,   /* a key of the verb's own was pressed */
	LIVE_END,   /* the user has ended it */
};

struct live {
	bool wanted; /* a screen, from the first picture on */
	bool screen; /* there is one, and it has keys */
	bool paused;
	bool typing;  /* a filter */
	bool filters; /* set by the verb: its pictures go by `filter` */
	char filter[LIVE_FILTER_MAX]; /* "" lets everything pass */
	char help[LIVE_HELP_MAX]; /* keys of the verb's own, set by the verb */
	size_t fixed; /* lines of the present picture that stay at the top when it is scrolled */
	size_t skip;  /* lines below that are above the screen */
	char *text;   /* the present picture */
	size_t size;
	FILE *picture; /* while it is made */
	bool again;    /* a picture was shown before */
	int key;       /* that was pressed last */
};

/*
 * All-zero but for `filters`. Takes over signals at once, and the terminal, if there is one and `screen` is wanted, when
 * there is a first picture: an error before it stays to be read. complain() gives it back.
 */
void live_begin(struct live *live, bool screen);

/* Gives the terminal back. */
void live_end(struct live *live);

/* Columns for a picture; 0: as many as it takes. */
int live_width(const struct live *live);

/* Lines that a picture has room for; 0: as many as it takes. */
int live_height(const struct live *live);

/* The stream that a picture is to be written to; NULL without memory. */
FILE *live_picture(struct live *live);

/* Shows what was written. Its first `fixed` lines stay at the top. Returns whether it could be. */
bool live_show(struct live *live, size_t fixed);

/*
 * Waits for the daemon's next reply on `connection`, if it is not NULL, and for keys, for at most `ns`; 0: for ever. Does by
 * itself what the keys of every view say.
 */
enum live_event live_wait(struct live *live, struct connection *connection, uint64_t ns);

/* Whether the text has what is filtered for in it, whatever the case of letters. */
bool live_passes(const struct live *live, const char *text);

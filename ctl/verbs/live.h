/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A live view: pictures of the daemon's replies, each of which replaces the one before. On a terminal it has the whole screen
 * and takes keys; elsewhere pictures are printed below each other. With --json the replies themselves are printed. One thread,
 * one view.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct connection;
struct context;
struct json_object;

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
	/* Set by the verb. */
	const struct context *context;
	const char *member; /* that a reply has if there is something to show in it; NULL: in each */
	/* Writes a picture of the reply. Returns how many of its first lines stay at the top when it is scrolled. */
	size_t (*print)(struct live *live, struct json_object *reply, FILE *picture);
	void *userdata;	    /* for `print` */
	bool filters;	    /* pictures go by `filter` */
	char help[LIVE_HELP_MAX]; /* keys of the verb's own */

	struct json_object *shown; /* the last reply with something to show that did not come in a pause; NULL: none did */
	bool wanted; /* a screen, from the first picture on */
	bool screen; /* there is one, and it has keys */
	bool paused;
	bool typing;  /* a filter */
	char filter[LIVE_FILTER_MAX]; /* "" lets everything pass */
	size_t fixed; /* lines of the present picture that stay at the top */
	size_t skip;  /* lines below that are above the screen */
	char *text;   /* the present picture */
	size_t size;
	bool again;    /* a picture was shown before */
	int key;       /* that was pressed last */
};

/*
 * All-zero but for what the verb sets. Takes over signals at once, and the terminal, if there is one and `screen` is wanted,
 * when there is a first picture: an error before it stays to be read. complain() gives it back.
 */
void live_begin(struct live *live, bool screen);

/* Gives the terminal and the last reply back. */
void live_end(struct live *live);

/* Columns for a picture; 0: as many as it takes. */
int live_width(const struct live *live);

/* Shows the last reply, if there was one. Returns whether it could be. */
bool live_draw(struct live *live);

/* Takes a reply, unless it is paused, and shows it. Returns whether it could be. */
bool live_take(struct live *live, struct json_object *reply);

/*
 * Receives one of the replies to a call that has several, and shows it. Returns EXIT_DONE and whether it was the last that is
 * to be waited for, or the exit code after printing an error.
 */
int live_receive(struct live *live, struct connection *connection, bool *last);

/*
 * Waits for the daemon's next reply on `connection`, if it is not NULL, and for keys, for at most `ns`; 0: for ever. Does by
 * itself what the keys of every view say.
 */
enum live_event live_wait(struct live *live, struct connection *connection, uint64_t ns);

/* Shows the replies to a call that has several, until the user or the daemon ends it. Returns the exit code. */
int live_follow(struct live *live, struct connection *connection);

/* Whether the text has what is filtered for in it, whatever the case of letters. */
bool live_passes(const struct live *live, const char *text);

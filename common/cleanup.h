/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Local variables that own something: a variable with one of these attributes releases it at the end of its
 * scope; TAKE() and take_fd() pass the ownership on instead. Usable from any thread.
 */
#pragma once

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))

/* Defines FUNCTIONp() for use in _cleanup_(), given a destructor that takes one pointer. */
#define DEFINE_CLEANUP(type, function)                                                             \
	static inline void function##p(type *pointer)                                              \
	{                                                                                          \
		if (*pointer)                                                                      \
			function(*pointer);                                                        \
	}                                                                                          \
	struct cleanup_needs_a_semicolon

static inline void freep(void *pointer)
{
	free(*(void **)pointer);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

DEFINE_CLEANUP(FILE *, fclose);
DEFINE_CLEANUP(struct json_object *, json_object_put);
DEFINE_CLEANUP(struct json_tokener *, json_tokener_free);

#define _cleanup_free_	 _cleanup_(freep)
#define _cleanup_close_	 _cleanup_(closep)
#define _cleanup_fclose_ _cleanup_(fclosep)
#define _cleanup_json_	 _cleanup_(json_object_putp)

/* Returns the value of a pointer variable and sets it to NULL. */
#define TAKE(pointer)                                                                              \
	({                                                                                         \
		__typeof__(pointer) *_take_from = &(pointer);                                      \
		__typeof__(pointer) _taken = *_take_from;                                          \
		*_take_from = NULL;                                                                \
		_taken;                                                                            \
	})

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

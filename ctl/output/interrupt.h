/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ctrl-C and SIGTERM as the normal end of a live view; and when they must wait. One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* From now on these signals interrupt waiting (-EINTR) instead of ending the program. */
void interrupt_catch(void);

/* Holds back signals that would end the program until it is called with false: for a moment in which something is half done. */
void interrupt_hold(bool hold);

/* From now on SIGWINCH comes in interrupt_wait() alone, so that it interrupts nothing else. */
void interrupt_block_resize(void);

/* Whether such a signal has come. */
bool interrupt_came(void);

enum interrupt_event {
	INTERRUPT_REPLY, /* there is something to read, or it was closed */
	INTERRUPT_KEY,	 /* a key was pressed, or the terminal has another size */
	INTERRUPT_TIME,
	INTERRUPT_CAME,	 /* such a signal, or the terminal is gone */
};

/*
 * Waits for something to read on `fd`, if it is not negative, for keys on stdin and another size of the terminal, if `keys`,
 * and for such a signal, at most for `ns`; 0: for ever.
 */
enum interrupt_event interrupt_wait(bool keys, int fd, uint64_t ns);

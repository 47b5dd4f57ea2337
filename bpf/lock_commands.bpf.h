/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands of fcntl that are about locks of ranges. */
#pragma once

#include <stdbool.h>

#include <linux/types.h>

#define LOCK_GET	 5 /* F_GETLK; F_SETLK and F_SETLKW follow */
#define LOCK_SET_WAIT	 7
#define LOCK_GET_64	 12 /* F_GETLK64, of 32-bit programs; two more follow */
#define LOCK_SET_WAIT_64 14
#define LOCK_OFD_GET	 36 /* F_OFD_GETLK; two more follow */
#define LOCK_OFD_SET_WAIT 38

/* The command, as the ABI without numbers for others has it; 0: it is not about such a lock. */
static __always_inline __u32 lock_command(__u32 command, bool compat)
{
	if ((command >= LOCK_GET && command <= LOCK_SET_WAIT) || (command >= LOCK_OFD_GET && command <= LOCK_OFD_SET_WAIT))
		return command;
	if (compat && command >= LOCK_GET_64 && command <= LOCK_SET_WAIT_64)
		return command - LOCK_GET_64 + LOCK_GET;
	return 0;
}

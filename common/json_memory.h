/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Out of memory in JSON. The library ends the program when something is added to an object that could not be made, and says
 * nothing when a value could not. The linker puts these functions in the place of the library's (see common/CMakeLists.txt):
 * what cannot be made is missing, what is missing takes what is added, and whoever makes a text of it learns that it is
 * not whole. Any thread; each has its own answer.
 */
#pragma once

#include <stdbool.h>

/* Whether something was left out since the thread asked last. */
bool json_lacks(void);

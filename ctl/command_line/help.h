/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output of --help and `help` on stdout: in columns, as wide as the terminal. One thread. */
#pragma once

#include "verb.h"

/* Prints all verbs; NULL ends the list. */
void help_print(const struct verb *const *verbs);

/* Prints one verb with its options. */
void help_print_verb(const struct verb *verb);

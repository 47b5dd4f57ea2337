/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interface io.iotracer; io.iotracer.varlink describes it. */
#pragma once

#include "interface.h"

extern const struct interface iotracer_interface;

/* The text of io.iotracer.varlink, compiled into the program. */
extern const char io_iotracer_varlink[];

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Methods of io.iotracer; io.iotracer.varlink describes the interface. */
#pragma once

#include "interface.h"

extern const struct interface command_interface;

/* The text of io.iotracer.varlink, compiled into the program. */
extern const char io_iotracer_varlink[];

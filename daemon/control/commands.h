/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io.iotracer: what the daemon can be told. The interface is described in io.iotracer.varlink. */
#pragma once

#include "dispatch.h"

extern const struct interface command_interface;

/* Text of io.iotracer.varlink, part of the program. */
extern const char io_iotracer_varlink[];

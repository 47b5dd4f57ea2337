/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "interface.h"

/* All interfaces of the daemon; NULL ends the list. */
extern const struct interface *const interfaces[];

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* org.varlink.service: what the daemon reports about itself to any Varlink client. Main thread only. */
#pragma once

#include "interface.h"

extern const struct interface service_interface;

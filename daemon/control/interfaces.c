// SPDX-License-Identifier: GPL-2.0-or-later
#include "interfaces.h"

#include "methods.h"
#include "service.h"

const struct interface *const interfaces[] = { &service_interface, &iotracer_interface, NULL };

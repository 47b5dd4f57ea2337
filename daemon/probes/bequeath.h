/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

struct probes;

/*
 * Leaves all that is loaded to the next daemon of the service: see inherit.h. Failures are logged. When all is loaded, by the
 * thread that has done so.
 */
void bequeath(const struct probes *probes);

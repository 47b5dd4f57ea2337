/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A disk that does not answer: as long as a test holds it, whoever looks for the paths of filters, flushes rows or
 * writes a manifest waits. Any thread.
 */
#pragma once

void fake_disk_hold(void);
void fake_disk_let_go(void);

/* Returns as soon as no test holds the disk. */
void fake_disk_await(void);

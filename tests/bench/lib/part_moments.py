# SPDX-License-Identifier: GPL-2.0-or-later
"""How long the daemon lets wait: starts of sessions, and new starts of the daemon itself, with its programs loaded once."""
import os

from lib import part_life, part_start

REPEATS = 3


def here(world):
    world.level = 'function'
    daemon = part_life.Life(world)
    try:
        with part_life.producing(world) as pid:
            daemon.begin()
            os.makedirs(daemon.path('out'))
            daemon.load()
            part_start.show(world.level, part_start.samples(daemon, pid, REPEATS))
            part_life.show_holes(world.level, part_life.holes(daemon, pid, REPEATS))
        daemon.finish()
    finally:
        daemon.remove()

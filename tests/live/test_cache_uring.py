# SPDX-License-Identifier: GPL-2.0-or-later
"""The page cache, read through io_uring: what a request brings in is a MISS, though it reaches its pages later."""
import collections
import ctypes
import os
import random
import struct

from lib import aio, uring
from lib.mapped import PAGE
from lib.registry import check, equal, test
from test_cache import during, need_hit, new, pages
from test_cache_pieces import block, scattered

BUFFER = ctypes.create_string_buffer(64 * PAGE)


def read(ring, file, first, last):
    ring.push('READ', file.fd, ctypes.addressof(BUFFER), (last + 1 - first) * PAGE, first * PAGE)


def judged(world, file, ranges, act, whole=True):
    """
    A page for each time that a range asks for it is HIT or MISS, and those added are MISS or READAHEAD. Not `whole`: no page is told
    more often, but there may be no HIT.
    """
    before = file.resident()
    rows, _, running = during(world, file, act)
    need_hit(running)
    added = file.resident() - before
    asked = sorted(page for first, last in ranges for page in range(first, last + 1))
    equal(pages(rows, 'MISS', 'READAHEAD'), sorted(added), 'pages added')
    if whole:
        equal(pages(rows, 'HIT', 'MISS'), asked, 'pages asked for')
    told = collections.Counter(pages(rows, 'HIT', 'MISS'))
    equal(sorted((told - collections.Counter(asked)).elements()), [], 'pages told too often')
    equal(set(pages(rows, 'READAHEAD')) & set(asked), set(), 'pages read ahead that a request asks for')


def requests(world, file, ranges, push=read, first=False, whole=True):
    """One io_uring_enter for all; `first`: it does not wait, another one does."""
    with uring.Ring(64) as ring:
        def act():
            for one in ranges:
                push(ring, file, *one)
            if first:
                ring.enter()
            results = [result for _, result, _ in ring.finish(len(ranges))]
            equal(sorted(results), sorted((last + 1 - first) * PAGE for first, last in ranges), 'results')
        judged(world, file, ranges, act, whole)


@test
def cold(world):
    """More requests than a call keeps runs, each for a page that is not there, and the same again."""
    file = new(world, 512)
    ranges = [(page * 37 % 512,) * 2 for page in range(48)]
    for first in (False, True):
        scattered(file, ())
        os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_RANDOM)
        requests(world, file, ranges, first=first)
        requests(world, file, ranges, first=first)
    check(len(file.resident()) == 48, 'pages were read ahead', file.resident())


@test
def in_part(world):
    """Ranges of which some pages are there, with and without readahead."""
    file, draw = new(world, 512), random.Random(7)
    for first in (False, True, False, True):
        there = [page for page in range(512) if draw.random() < 0.3]
        scattered(file, there)
        os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_RANDOM)
        ranges = [(at, at + 7) for at in range(0, 512, 16)]
        requests(world, file, ranges, first=first, whole=False)
        requests(world, file, ranges, first=first)
        scattered(file, ())
        requests(world, file, [(at, at + 3) for at in draw.sample(range(0, 512, 8), 16)], first=first, whole=False)


@test
def apart(world):
    """What io_uring has missed before changes nothing for other calls, nor for later requests."""
    file = new(world, 64)
    os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_RANDOM)
    requests(world, file, [(8, 11)])
    for _ in range(2):
        requests(world, file, [(8, 11)])
        judged(world, file, [(8, 11)], lambda: os.pread(file.fd, 4 * PAGE, 8 * PAGE))
    file.drop()
    with aio.Context(1) as context:
        judged(world, file, [(8, 11)], lambda: context.run([block(file, 8, 11)]))


@test
def kinds(world):
    """Vectors, the file's position, a registered file; and a write, which asks for nothing."""
    file = new(world, 512)
    os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_RANDOM)
    vector = ctypes.create_string_buffer(struct.pack('<4Q', *[ctypes.addressof(BUFFER), 2 * PAGE] * 2))
    requests(world, file, [(8, 11), (40, 43)], lambda ring, file, first, _: ring.push(
        'READV', file.fd, ctypes.addressof(vector), 2, first * PAGE))
    os.lseek(file.fd, 100 * PAGE, os.SEEK_SET)
    requests(world, file, [(100, 101)], lambda ring, file, *_: ring.push(
        'READ', file.fd, ctypes.addressof(BUFFER), 2 * PAGE, -1))
    descriptors = ctypes.create_string_buffer(struct.pack('<i', file.fd))
    with uring.Ring(8) as ring:
        uring.call(uring.REGISTER, ring.fd, uring.REGISTER_FILES, ctypes.addressof(descriptors), 1)

        def act():
            for at in (200, 210):
                ring.push('READ', 0, ctypes.addressof(BUFFER), PAGE, at * PAGE, flags=uring.FIXED_FILE)
            ring.push('WRITE', file.fd, ctypes.addressof(BUFFER), PAGE, 300 * PAGE)
            ring.finish(3)
        before = file.resident()
        rows, _, _ = during(world, file, act)
    equal(sorted(file.resident() - before), [200, 210, 300], 'pages added')
    equal(pages(rows, 'DIRTY'), [300], 'pages of DIRTY')
    check(300 not in pages(rows, 'HIT', 'MISS', 'READAHEAD'), 'a page that is written is told as read')
    equal(pages(rows, 'MISS', 'READAHEAD'), [200, 210], 'pages added to be read')

# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads of files that are in memory in many pieces: each page is told once, whatever the kernel adds at a time."""
import ctypes
import os
import random
import shutil

from lib import aio, uring
from lib.mapped import PAGE
from lib.registry import check, equal, test
from test_cache import during, exactly, need_hit, new, pages, session


def scattered(file, there):
    """Has just these pages of the file in memory, and readahead switched on."""
    file.drop()
    os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_RANDOM)
    for page in there:
        os.pread(file.fd, PAGE, page * PAGE)
    equal(file.resident(), set(there), 'pages in memory')
    os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_NORMAL)


def once(world, file, there, asked, read):
    """One call that reads the pages `asked` of which `there` are in memory."""
    there, asked = set(there), set(asked)
    scattered(file, there)
    rows, _, running = during(world, file, read)
    added = file.resident() - there
    check(asked <= there | added, 'pages that were asked for and are not in memory')
    equal(pages(rows, 'MISS', 'READAHEAD'), sorted(added), 'pages added')
    need_hit(running)
    exactly(rows, HIT=asked & there, MISS=asked - there, READAHEAD=added - asked)


@test
def every_16th(world):
    file = new(world, 256)
    once(world, file, range(0, 256, 16), range(256), lambda: os.pread(file.fd, 256 * PAGE, 0))


@test
def every_2nd(world):
    """The first page is not there: the kernel adds pages before it tells what the read is after."""
    file = new(world, 512)
    once(world, file, range(1, 512, 2), range(512), lambda: os.pread(file.fd, 512 * PAGE, 0))


@test
def from_the_middle(world):
    """By the descriptor's position, into several buffers."""
    file, buffers = new(world, 300), [bytearray(30 * PAGE) for _ in range(6)]
    os.lseek(file.fd, 100 * PAGE + 5, os.SEEK_SET)
    once(world, file, range(0, 300, 3), range(100, 281), lambda: os.readv(file.fd, buffers))


@test
def at_random(world):
    """Patterns, ranges and calls at random, but the same ones every time."""
    draw, file = random.Random(12), new(world, 1024)
    for _ in range(16):
        there = [page for page in range(1024) if draw.random() < draw.choice((0.02, 0.1, 0.5))]
        first = draw.randrange(900)
        count = draw.randint(1, 1024 - first)
        buffer = bytearray(count * PAGE)
        call = draw.choice((lambda: os.pread(file.fd, count * PAGE, first * PAGE),
                            lambda: os.preadv(file.fd, [buffer], first * PAGE)))
        once(world, file, there, range(first, first + count), call)


@test
def sent(world):
    """sendfile asks for the pages of its file some at a time."""
    file = new(world, 256)
    sink = os.open(world.path('sink'), os.O_WRONLY | os.O_CREAT, 0o600)
    world.undo.callback(os.close, sink)
    once(world, file, range(0, 256, 16), range(256), lambda: os.sendfile(sink, file.fd, 0, 256 * PAGE))


@test
def execve(world):
    """What execve reads belongs to the command that the filter judged it by."""
    program = world.path('program')
    shutil.copy('/bin/true', program)
    called, before = os.path.basename(program)[:15], open('/proc/self/comm', encoding='ascii').read().strip()
    fd = os.open(program, os.O_RDWR)
    inode, found = str(os.fstat(fd).st_ino), 0
    os.fsync(fd)
    for command in (before, called):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        with session(world, '--command', command, everybody=True) as running:
            os.close(fd)
            child = os.fork()
            if not child:
                os.execv(program, [program])
            equal(os.waitpid(child, 0)[1], 0, 'status of the child')
        rows = running.rows('cache')  # the program's and its interpreter's
        equal({row['command'] for row in rows} - {command}, set(), 'commands of rows with --command ' + command)
        found += len([row for row in rows if row['inode'] == inode])
        fd = os.open(program, os.O_RDONLY)
    os.close(fd)
    check(found, 'no rows of the program')



def block(file, first, last):
    """A read of libaio of these pages."""
    buffer = ctypes.create_string_buffer((last + 1 - first) * PAGE)
    one = aio.block(aio.PREAD, file.fd, ctypes.addressof(buffer), len(buffer), first * PAGE)
    one.buffer = buffer
    return one


def each(world, file, there, ranges):
    """One io_submit with a read of each range, of which `there` are in memory at first: a page is told each time."""
    scattered(file, there)
    with aio.Context(len(ranges)) as context:
        rows, _, running = during(world, file, lambda: context.run([block(file, *one) for one in ranges]))
    asked = [page for first, last in ranges for page in range(first, last + 1)]
    need_hit(running)
    added = file.resident() - set(there)
    equal(pages(rows, 'MISS', 'READAHEAD'), sorted(added), 'pages added')
    equal(pages(rows, 'HIT', 'MISS'), sorted(asked), 'pages asked for')


@test
def submitted_again(world):
    """Many reads of the same few pages in one call: blocks of one size, as databases read, and ranges that overlap."""
    file, draw = new(world, 64), random.Random(3)
    blocks = [(at, at + 1) for at in (draw.randrange(0, 64, 2) for _ in range(200))]
    each(world, file, range(64), [(7, 7)] * 16)
    each(world, file, range(64), blocks)
    each(world, file, range(64), [(0, 9), (4, 7), (6, 20), (0, 20), (20, 40), (21, 30), (0, 63), (0, 63)])


@test
def submitted_cold(world):
    """What the first read brought in, the others find, also where it was in more pieces than a call keeps."""
    each(world, new(world, 64), (), [(0, 3)] * 3 + [(2, 5), (0, 3)])
    each(world, new(world, 256), range(0, 256, 2), [(0, 255)] * 3)


@test
def entered_again(world):
    """The same by io_uring."""
    file, buffer = new(world, 64, warm=True), ctypes.create_string_buffer(16 * PAGE)
    asked = [1, 2, 1, 1, 2, 3, 3, 40, 2, 41, 41]
    with uring.Ring(16) as ring:
        def read():
            for at in asked:
                ring.push('READ', file.fd, ctypes.addressof(buffer), PAGE, at * PAGE)
            ring.finish(len(asked))
        rows, _, running = during(world, file, read)
    need_hit(running)
    equal(pages(rows, 'HIT'), sorted(asked), 'pages of HIT')

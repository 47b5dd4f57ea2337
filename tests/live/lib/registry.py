# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests are functions with a decorator; what they raise is the verdict."""
import time
from types import SimpleNamespace

TESTS = []
PATIENCE = 300  # seconds for what takes moments: emulated machines, and such as have other work, are slow


class Skip(Exception):
    """This machine cannot show it."""


class Failure(Exception):
    """What was expected, and what came; a line each."""

    def __init__(self, *lines):
        super().__init__(*lines)
        self.lines = [str(line) for line in lines]


def register(name, run, host_only=False):
    TESTS.append(SimpleNamespace(name=name, run=run, host_only=host_only))


def test(function=None, *, host_only=False):
    """
    The function gets the world (see world.py) and is named module.function. One that says nothing
    about a kernel is host_only: the virtual machines leave it out. A module's GROUP, if it has one,
    stands for its name.
    """
    if function is None:
        return lambda decorated: test(decorated, host_only=host_only)
    group = function.__globals__.get('GROUP') or function.__module__.replace('test_', '')
    register('%s.%s' % (group, function.__name__), function, host_only)
    return function


def check(condition, *lines):
    if not condition:
        raise Failure(*(lines or ('not so',)))


def equal(got, expected, what):
    check(got == expected, what, 'expected %r' % (expected,), 'got      %r' % (got,))


def wait_for(what, condition, told=list, pause=0.02):
    """
    The condition's first value that is true; `told` gives lines for where it never is. Nothing is judged by how
    long that takes.
    """
    end = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > end:
            raise Failure('waited in vain for ' + what, *told())
        time.sleep(pause)
    return value

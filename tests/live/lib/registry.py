# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests are functions with a decorator; what they raise is the verdict."""
from types import SimpleNamespace

TESTS = []


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
    about a kernel is host_only: the virtual machines leave it out.
    """
    if function is None:
        return lambda decorated: test(decorated, host_only=host_only)
    module = function.__module__.replace('test_', '')
    register('%s.%s' % (module, function.__name__), function, host_only)
    return function


def check(condition, *lines):
    if not condition:
        raise Failure(*(lines or ('not so',)))


def equal(got, expected, what):
    check(got == expected, what, 'expected %r' % (expected,), 'got      %r' % (got,))

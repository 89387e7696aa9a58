"""A folder of its own for each module of tests that writes files, so that it can be run anywhere, and again:

    from scratch import setUpModule, tearDownModule
"""
import os
import tempfile

_state = []


def setUpModule():
    _state.append((os.getcwd(), tempfile.TemporaryDirectory()))
    os.chdir(_state[-1][1].name)


def tearDownModule():
    before, folder = _state.pop()
    os.chdir(before)
    folder.cleanup()

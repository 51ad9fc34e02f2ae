"""The service's threads share a few heaps, so that what one of them freed serves the others and goes back."""

import platform
import subprocess
import sys

import pytest

_COUNT = """
import threading
from weft.runtime.heaps import share_heaps

if {shared}:
    assert share_heaps()
together = threading.Barrier(25)

def work():
    held = [bytes(100_000) for _ in range(20)]
    together.wait()
    together.wait()

for _ in range(24):
    threading.Thread(target=work).start()
together.wait()
lines = open("/proc/self/maps").read().splitlines()
# The heaps of threads begin at multiples of 64 MiB.
print(len([line for line in lines if int(line.split("-")[0], 16) % (64 << 20) == 0]))
together.wait()
"""


def heaps_of_threads(shared: bool) -> int:
    """Return how many heaps two dozen threads make in a process of their own."""
    words = [sys.executable, "-c", _COUNT.format(shared=shared)]
    return int(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc makes a heap for each thread")
def test_two_dozen_threads_share_the_heaps_that_they_would_have_made() -> None:
    assert heaps_of_threads(shared=True) <= 2 < heaps_of_threads(shared=False)


_GIVE_BACK = """
from weft.runtime.heaps import give_back

def held():
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1])

before = held()
# Every other one is kept, so that none of what is freed lies at the end of the heap.
kept = [b"x" * 100_000 for _ in range(1000)][::2]
freed = held()
assert give_back()
print(freed - before, freed - held())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps what lies between values in use")
def test_what_lies_free_between_values_in_use_is_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", _GIVE_BACK], check=True, capture_output=True, text=True)
    held_kilobytes, given_kilobytes = map(int, done.stdout.split())
    # Half of a hundred megabytes, of which pages that are used in part stay.
    assert held_kilobytes > 90_000
    assert given_kilobytes > 40_000

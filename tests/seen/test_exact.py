"""The exact sets: never wrong, and after a crash exactly what they were at their last flush."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rocksdict import Options, Rdict
from seen_helpers import MemorySet
from waiting import PATIENCE

from sitecrawl.base.errors import CorruptFile, CrawlDirectoryInUse, FormatMismatch, StorageError
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.seen.exact import COMMIT, LAYOUT, RocksSet

ExactSet = MemorySet | RocksSet

few_keys = st.lists(st.sampled_from([bytes([i]) * 16 for i in range(30)]), max_size=40, unique=True)


def random_keys(count: int, seed: int = 1) -> list[bytes]:
    rng = Random(seed)
    return [rng.randbytes(16) for _ in range(count)]


@pytest.fixture(params=["memory", "rocks", "rocks, every add ahead", "rocks, every third add ahead"])
def exact(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ExactSet]:
    spill = {"rocks": 50_000, "rocks, every add ahead": 1, "rocks, every third add ahead": 3}
    name = request.param
    made: ExactSet = MemorySet() if name == "memory" else RocksSet(tmp_path / "set", hash_name="h", spill=spill[name])
    yield made
    made.close()


class TestContract:
    """What every `ExactSet` promises, with adds in memory, on disk, and in both."""

    def test_an_empty_set_holds_nothing(self, exact: ExactSet) -> None:
        """Before the first add every answer is no."""
        assert exact.contains_many(random_keys(5)) == [False] * 5
        assert exact.contains_many([]) == []
        assert len(exact) == 0

    def test_adds_are_seen_before_the_flush(self, exact: ExactSet) -> None:
        """A key is in the set from the moment it was added."""
        keys = random_keys(10)
        for key in keys:
            assert exact.contains_many([key]) == [False]
            exact.add_many([key])
            assert exact.contains_many([key]) == [True]
        assert len(exact) == 10

    def test_adds_are_seen_after_the_flush(self, exact: ExactSet) -> None:
        """A flush changes no answer and no length."""
        keys = random_keys(10)
        exact.add_many(keys[:5])
        exact.flush()
        exact.add_many(keys[5:])
        exact.flush()
        exact.flush()
        assert all(exact.contains_many(keys))
        assert not any(exact.contains_many(random_keys(10, seed=2)))
        assert len(exact) == 10

    def test_answers_come_in_the_order_of_the_questions(self, exact: ExactSet) -> None:
        """One batch mixes known and unknown keys, some of them twice."""
        a, b, c = random_keys(3)
        exact.add_many([a, c])
        assert exact.contains_many([c, b, a, b, c]) == [True, False, True, False, True]

    def test_an_add_of_nothing_is_nothing(self, exact: ExactSet) -> None:
        """Empty batches happen: a page without links."""
        exact.add_many([])
        exact.flush()
        assert len(exact) == 0


# Each opens it several times; benchmarks/seen.py compares many more keys.
@settings(max_examples=settings().max_examples // 5)
@given(batches=st.lists(few_keys, max_size=12), spill=st.integers(1, 12), flush_every=st.integers(1, 5))
def test_against_a_python_set(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[bytes]], spill: int, flush_every: int
) -> None:
    """Batches, writes ahead, flushes and reopening in any mixture: no difference to a set."""
    path = tmp_path_factory.mktemp("against") / "set"
    reference: set[bytes] = set()
    exact = RocksSet(path, hash_name="h", spill=spill)
    for number, batch in enumerate(batches):
        assert exact.contains_many(batch) == [key in reference for key in batch]
        exact.add_many([key for key in batch if key not in reference])
        reference.update(batch)
        assert len(exact) == len(reference)
        if number % flush_every == 0:
            exact.close()
            exact = RocksSet(path, hash_name="h", spill=spill)
    exact.flush()
    assert set(exact.keys()) == reference
    exact.close()
    shutil.rmtree(path)


class TestCrash:
    """A process is killed; the set is what it was at the last flush."""

    WRITER = """
import os, signal, sys
from pathlib import Path
from random import Random
from sitecrawl.frontier.seen.exact import RocksSet
rng = Random(1)
made = RocksSet(Path(sys.argv[1]), hash_name="h", spill=int(sys.argv[2]))
made.add_many([rng.randbytes(16) for _ in range(1000)])
made.flush()
for _ in range(10):
    made.add_many([rng.randbytes(16) for _ in range(100)])
os.kill(os.getpid(), signal.SIGKILL)
"""

    @pytest.mark.parametrize("spill", [1, 100, 350, 5000])
    def test_nothing_flushed_is_lost_and_nothing_else_is_kept(self, tmp_path: Path, spill: int) -> None:
        """1,000 keys were flushed, 1,000 more were not, some or all of these already on disk."""
        args = [sys.executable, "-c", self.WRITER, str(tmp_path / "set"), str(spill)]
        assert subprocess.run(args, check=False).returncode == -signal.SIGKILL
        keys = random_keys(2000)
        exact = RocksSet(tmp_path / "set", hash_name="h")
        assert exact.contains_many(keys) == [True] * 1000 + [False] * 1000
        assert len(exact) == 1000
        assert set(exact.keys()) == set(keys[:1000])
        exact.close()

    def test_the_forgotten_keys_can_be_added_again(self, tmp_path: Path) -> None:
        """After the roll-back the set goes on as if the crash had never been."""
        args = [sys.executable, "-c", self.WRITER, str(tmp_path / "set"), "100"]
        subprocess.run(args, check=False)
        keys = random_keys(2000)
        for reopened in range(2):
            exact = RocksSet(tmp_path / "set", hash_name="h", spill=100)
            assert exact.contains_many(keys[1000:]) == [bool(reopened)] * 1000
            if not reopened:
                exact.add_many(keys[1000:])
            exact.close()

    KILLED_ANYWHERE = """
import sys
from pathlib import Path
from random import Random
from sitecrawl.frontier.seen.exact import RocksSet
rng = Random(1)
made = RocksSet(Path(sys.argv[1]), hash_name="h", spill=70)
while True:
    made.add_many([rng.randbytes(16) for _ in range(50)])
    made.add_many([rng.randbytes(16) for _ in range(50)])
    made.flush()
    print(len(made), flush=True)
"""

    @pytest.mark.parametrize("flushes", [1, 7, 50])
    def test_killed_from_outside_it_stands_at_a_flush(self, tmp_path: Path, flushes: int) -> None:
        """At whatever instruction the kill falls, the set is a whole number of flushes, none reported lost."""
        args = [sys.executable, "-c", self.KILLED_ANYWHERE, str(tmp_path / "set")]
        with subprocess.Popen(args, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(flushes):
                process.stdout.readline()
            process.kill()
        exact = RocksSet(tmp_path / "set", hash_name="h")
        count = len(exact)
        assert count >= flushes * 100
        assert count % 100 == 0
        assert set(exact.keys()) == set(random_keys(count))
        exact.close()


class TestBadFiles:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        """A set that was closed, in table files."""
        exact = RocksSet(tmp_path / "set", hash_name="h")
        exact.add_many(random_keys(5000))
        exact.close()
        return tmp_path / "set"

    @staticmethod
    def cut(file: Path) -> None:
        os.truncate(file, file.stat().st_size // 2)

    @staticmethod
    def garble(file: Path) -> None:
        content = bytearray(file.read_bytes())
        for place in range(len(content) // 4, len(content)):
            content[place] ^= 0x5A
        file.write_bytes(content)

    @pytest.mark.parametrize("pattern", ["*.sst", "MANIFEST-*", "CURRENT"])
    @pytest.mark.parametrize("damage", [cut, garble, Path.unlink])
    def test_a_damaged_file_is_an_error(self, path: Path, pattern: str, damage: Callable[[Path], None]) -> None:
        """A file that is cut, garbled or gone is found, at the latest when its keys are asked for."""
        for file in path.glob(pattern):
            damage(file)
        with pytest.raises(CorruptFile, match="restore it"):
            self.read_all(path)

    @staticmethod
    def read_all(path: Path) -> None:
        exact = RocksSet(path, hash_name="h")
        try:
            assert exact.contains_many(random_keys(5000)) == [True] * 5000
        finally:
            exact.close()

    def test_a_damaged_log_is_an_error(self, tmp_path: Path) -> None:
        """What a killed process left in the log is checked, not cut off at the damage."""
        args = [sys.executable, "-c", TestCrash.WRITER, str(tmp_path / "set"), "100"]
        subprocess.run(args, check=False)
        log = max((tmp_path / "set").glob("*.log"), key=lambda file: file.stat().st_size)
        content = bytearray(log.read_bytes())
        content[len(content) // 2 : len(content) // 2 + 500] = b"Z" * 500
        log.write_bytes(content)
        with pytest.raises(CorruptFile, match="restore it"):
            RocksSet(tmp_path / "set", hash_name="h")

    @pytest.mark.parametrize("damage", [Path.unlink, lambda log: os.truncate(log, 0)])
    def test_a_lost_log_is_an_error(self, tmp_path: Path, damage: Callable[[Path], None]) -> None:
        """RocksDB opens an earlier state where a log is gone; what was flushed is missed all the same."""
        args = [sys.executable, "-c", TestCrash.WRITER, str(tmp_path / "set"), "100"]
        subprocess.run(args, check=False)
        for log in (tmp_path / "set").glob("*.log"):
            damage(log)
        with pytest.raises(CorruptFile, match="restore it"):
            RocksSet(tmp_path / "set", hash_name="h")

    def test_a_set_in_use_is_an_error(self, path: Path) -> None:
        """Two crawls do not share a set, in one process or in two."""
        exact = RocksSet(path, hash_name="h")
        with pytest.raises(CrawlDirectoryInUse, match="another process"):
            RocksSet(path, hash_name="h")
        program = (
            "import sys; from pathlib import Path; from sitecrawl.base.errors import CrawlDirectoryInUse\n"
            "from sitecrawl.frontier.seen.exact import RocksSet\n"
            "try: RocksSet(Path(sys.argv[1]), hash_name='h')\n"
            "except CrawlDirectoryInUse: print('in use')"
        )
        args = [sys.executable, "-c", program, str(path)]
        assert subprocess.run(args, capture_output=True, text=True, check=True).stdout == "in use\n"
        exact.close()
        self.read_all(path)

    def test_another_hash_is_refused(self, path: Path) -> None:
        """Keys of another hash would all look new."""
        with pytest.raises(FormatMismatch, match="start in a new directory"):
            RocksSet(path, hash_name="another")
        self.read_all(path)

    def test_a_foreign_database_is_refused(self, tmp_path: Path) -> None:
        """A RocksDB that is no seen set is left as it is."""
        foreign = Rdict(str(tmp_path / "set"), Options(raw_mode=True))
        foreign[b"somebody"] = b"else"
        foreign.close()
        with pytest.raises(FormatMismatch, match="another program"):
            RocksSet(tmp_path / "set", hash_name="h")
        foreign = Rdict(str(tmp_path / "set"), Options(raw_mode=True))
        assert dict(foreign.items()) == {b"somebody": b"else"}
        foreign.close()

    def test_a_lost_record_is_an_error(self, path: Path) -> None:
        """Without its record of the last flush the set cannot know what was flushed."""
        database = Database(path, hash_name="h", layout=LAYOUT)
        batch = database.batch()
        batch.delete("meta", COMMIT)
        database.write(batch)
        database.close()
        with pytest.raises(CorruptFile, match="at flush 0, and flush 1 was written"):
            RocksSet(path, hash_name="h")

    def test_a_path_that_is_a_file_is_an_error(self, tmp_path: Path) -> None:
        """The operating system's reason is in the message."""
        (tmp_path / "set").write_text("no directory")
        with pytest.raises(StorageError, match="File exists"):
            RocksSet(tmp_path / "set", hash_name="h")


FULL_DISK = """
import sys
from pathlib import Path
from random import Random
from sitecrawl.base.errors import StorageError
from sitecrawl.frontier.seen.exact import RocksSet
rng = Random(1)
made = RocksSet(Path(sys.argv[1]), hash_name="h", spill=1000)
try:
    while True:
        keys = [rng.randbytes(16) for _ in range(1000)]
        made.add_many(keys)
        made.flush()
except StorageError as error:
    print(error)
"""


def test_a_full_disk_says_so(tmp_path: Path) -> None:
    """Writing to a disk of 8 MB ends in an error that tells what to do, and the flushed keys stay."""
    script = 'mount -t tmpfs -o size=8m none "$1" && exec "$2" -c "$3" "$1/set"'
    args = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", str(tmp_path), sys.executable]
    try:
        done = subprocess.run([*args, FULL_DISK], capture_output=True, text=True, check=False, timeout=PATIENCE)
    except FileNotFoundError:
        pytest.skip("no unshare on this machine")
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("this user may not mount a small disk")
    assert "is full: free some space" in done.stdout, done.stderr

"""The Bloom filters: never a wrong no, few wrong yeses, and a file that is what it says or an error."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import weakref
import zlib
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybloom_live import BloomFilter
from seen_helpers import of_another_kind

from sitecrawl.base.errors import CorruptFile, FormatMismatch, OptionError, StorageError
from sitecrawl.frontier.seen.bloom import MAGIC, VERSION, Layer, ScalableBloom, load_bloom

keys_of_16 = st.binary(min_size=16, max_size=16)


def random_keys(count: int, seed: int) -> list[bytes]:
    rng = Random(seed)
    return [rng.randbytes(16) for _ in range(count)]


@pytest.fixture(params=[1, 2, 1000], ids="first layer of {}".format)
def bloom(request: pytest.FixtureRequest) -> ScalableBloom:
    return ScalableBloom(capacity=request.param, error_rate=0.01)


class TestContract:
    """What a Bloom filter promises, at sizes where every key can be a new layer."""

    def test_an_empty_filter_holds_nothing(self, bloom: ScalableBloom) -> None:
        """Before the first add every answer is no."""
        assert bloom.contains_many([bytes(16)]) == [False]
        assert bloom.contains_many(random_keys(10, 1)) == [False] * 10
        assert bloom.contains_many([]) == []

    def test_what_was_added_is_found(self, bloom: ScalableBloom) -> None:
        """There is no wrong no, whatever the number of layers."""
        keys = random_keys(500, 1)
        for key in keys[:100]:
            bloom.add_many([key])
        bloom.add_many(keys[100:])
        assert all(bloom.contains_many(keys))
        assert all(bloom.contains_many([key]) == [True] for key in keys)

    def test_wrong_yeses_stay_below_the_asked_rate(self, bloom: ScalableBloom) -> None:
        """Growth does not cost accuracy: 20,000 keys in up to 15 layers, and 20,000 strangers."""
        bloom.add_many(random_keys(20_000, 1))
        assert sum(bloom.contains_many(random_keys(20_000, 2))) <= 0.01 * 20_000 * 1.25

    def test_clear_forgets_every_key(self, bloom: ScalableBloom) -> None:
        """A cleared filter is an empty one, and can be filled again."""
        keys = random_keys(100, 1)
        bloom.add_many(keys)
        bloom.clear(50)
        assert not any(bloom.contains_many(keys))
        bloom.add_many(keys)
        assert all(bloom.contains_many(keys))

    def test_it_says_its_rate(self, bloom: ScalableBloom) -> None:
        """The error rate is in the log and in the file."""
        assert bloom.error_rate == 0.01


@given(keys=st.lists(keys_of_16, max_size=60), cut=st.integers(0, 60))
def test_against_a_set(keys: list[bytes], cut: int) -> None:
    """Every key of a Python set is found, however the adds were cut into batches."""
    bloom = ScalableBloom(capacity=1, error_rate=0.001)
    bloom.add_many(keys[:cut])
    bloom.add_many(keys[cut:])
    assert all(bloom.contains_many(keys))
    assert len(bloom) == len(keys)


def test_it_grows_by_doubling() -> None:
    """Capacities 1, 2, 4: seven keys fill three layers, and the eighth begins a fourth."""
    bloom = ScalableBloom(capacity=1, error_rate=0.01)
    for count, layers in ((1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4)):
        bloom.add_many(random_keys(count - len(bloom), count))
        assert len(bloom._layers) == layers


def test_a_cleared_filter_expects_what_it_is_told() -> None:
    """After a rebuild the known keys are in one layer, so a look-up asks one layer."""
    bloom = ScalableBloom(capacity=1, error_rate=0.01)
    bloom.clear(1000)
    bloom.add_many(random_keys(1000, 1))
    assert len(bloom._layers) == 1


@pytest.mark.parametrize("capacity", [1, 7, 64, 1000, 12_345])
def test_the_size_of_a_layer_is_known_before_it_is_written(capacity: int) -> None:
    """The file names the sizes of all layers before the first of them."""
    layer = Layer(BloomFilter(capacity, 0.001))
    layer.add(bytes(16).hex().encode())
    assert layer.size() == len(layer.dump())


def test_a_save_copies_one_layer_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred megabytes of layers are not two hundred more while they are written."""
    bloom = ScalableBloom(capacity=100, error_rate=0.01)
    bloom.add_many(random_keys(700, seed=1))
    alive: list[weakref.ref[Copy]] = []
    dump = Layer.dump

    class Copy(bytearray):
        """Bytes whose end can be noticed."""

    def dumped(layer: Layer) -> Copy:
        assert not [copy for copy in alive if copy() is not None]
        copy = Copy(dump(layer))
        alive.append(weakref.ref(copy))
        return copy

    monkeypatch.setattr(Layer, "dump", dumped)
    bloom.save(tmp_path / "filter", "hash-1")
    assert len(alive) == 3 + 1  # three layers, and the witness of the hash function


@pytest.mark.parametrize(("capacity", "error_rate"), [(0, 0.01), (-5, 0.01), (1, 0), (1, 1), (1, -0.1), (1, 2)])
def test_an_impossible_filter_is_refused(capacity: int, error_rate: float) -> None:
    """A capacity below 1 or a rate outside of (0, 1) is an error."""
    with pytest.raises(OptionError):
        ScalableBloom(capacity=capacity, error_rate=error_rate)


class TestFile:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        """A filter of 1,000 keys in seven layers."""
        bloom = ScalableBloom(capacity=10, error_rate=0.01)
        bloom.add_many(random_keys(1000, 1))
        bloom.save(tmp_path / "filter", "hash-1")
        return tmp_path / "filter"

    @staticmethod
    def load(file: Path, *, error_rate: float = 0.01, hash_name: str = "hash-1") -> ScalableBloom:
        return load_bloom(file, error_rate=error_rate, hash_name=hash_name)

    def test_a_loaded_filter_answers_as_the_saved_one(self, file: Path) -> None:
        """Every answer is the same, the wrong ones too, and it grows on from there."""
        original = ScalableBloom(capacity=10, error_rate=0.01)
        original.add_many(random_keys(1000, 1))
        loaded = self.load(file)
        questions = random_keys(1000, 1) + random_keys(5000, 2)
        assert loaded.contains_many(questions) == original.contains_many(questions)
        assert len(loaded) == 1000
        for bloom in (loaded, original):
            bloom.add_many(random_keys(1000, 3))
        assert loaded.contains_many(questions) == original.contains_many(questions)

    def test_an_empty_filter_can_be_saved(self, tmp_path: Path) -> None:
        """No keys are a filter too."""
        ScalableBloom(capacity=10, error_rate=0.01).save(tmp_path / "filter", "hash-1")
        assert len(self.load(tmp_path / "filter")) == 0

    def test_another_process_reads_it(self, file: Path) -> None:
        """The hash does not depend on the process, as Python's own does."""
        program = (
            "import sys; from pathlib import Path; from random import Random\n"
            "from sitecrawl.frontier.seen.bloom import load_bloom\n"
            "b = load_bloom(Path(sys.argv[1]), error_rate=0.01, hash_name='hash-1')\n"
            "r = Random(1); print(all(b.contains_many([r.randbytes(16) for _ in range(1000)])))"
        )
        args = [sys.executable, "-c", program, str(file)]
        done = subprocess.run(args, capture_output=True, text=True, check=True)
        assert done.stdout == "True\n"

    def test_every_truncation_is_an_error(self, file: Path) -> None:
        """A file cut anywhere is corrupt, never a smaller filter."""
        whole = file.read_bytes()
        for size in [*range(40), *range(40, len(whole), max(97, len(whole) // 50)), len(whole) - 1]:
            file.write_bytes(whole[:size])
            with pytest.raises(CorruptFile, match="restore it"):
                self.load(file)

    def test_a_flipped_bit_is_an_error(self, file: Path) -> None:
        """Damage in the header or the layers is found by the checksum."""
        whole = file.read_bytes()
        for place in range(12, len(whole), max(61, len(whole) // 80)):
            damaged = bytearray(whole)
            damaged[place] ^= 1
            file.write_bytes(damaged)
            with pytest.raises(CorruptFile):
                self.load(file)

    def test_a_newer_format_is_refused(self, file: Path) -> None:
        """A later version's file is left alone, with advice."""
        whole = file.read_bytes()
        file.write_bytes(MAGIC + struct.pack("<I", VERSION + 1) + whole[12:])
        with pytest.raises(FormatMismatch, match="use the version that wrote it"):
            self.load(file)

    def test_a_foreign_file_is_refused(self, file: Path) -> None:
        """Something else under that name is not read as a filter."""
        file.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
        with pytest.raises(FormatMismatch, match="another kind of file"):
            self.load(file)

    @pytest.mark.parametrize("wanted", [{"hash_name": "hash-2"}, {"error_rate": 0.02}])
    def test_another_hash_or_rate_is_refused(self, file: Path, wanted: dict[str, Any]) -> None:
        """Keys of another hash would all look new."""
        with pytest.raises(FormatMismatch, match="it is made again"):
            self.load(file, **wanted)

    def test_another_filter_is_refused(self, file: Path) -> None:
        """A file that 0.2.0 wrote with `rbloom` is not read as one of pybloom-live."""
        of_another_kind(file)
        with pytest.raises(FormatMismatch, match="'filter': 'rbloom'"):
            self.load(file)

    def test_a_library_that_hashes_differently_is_noticed(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The witness changes with the hash, although name and format stay."""
        add = Layer.add
        monkeypatch.setattr(Layer, "add", lambda layer, point: add(layer, point[::-1]))
        with pytest.raises(FormatMismatch, match="witness"):
            self.load(file)

    def test_layers_that_do_not_fill_the_file_are_an_error(self, file: Path) -> None:
        """Lengths that lie are found even under a right checksum."""
        whole = file.read_bytes()
        size = struct.unpack_from("<I", whole, 12)[0]
        header = json.loads(whole[16 : 16 + size])
        header["sizes"][0] += 1
        encoded = json.dumps(header).encode()
        content = whole[:12] + struct.pack("<I", len(encoded)) + encoded + whole[16 + size : -4]
        file.write_bytes(content + struct.pack("<I", zlib.crc32(content)))
        with pytest.raises(CorruptFile, match="do not fill the file"):
            self.load(file)

    def test_no_file_is_no_filter(self, tmp_path: Path) -> None:
        """A missing file is told apart from a damaged one."""
        with pytest.raises(FileNotFoundError):
            self.load(tmp_path / "filter")

    def test_a_failed_save_keeps_the_old_file(self, file: Path) -> None:
        """The new file takes the old one's place only when it is whole."""
        before = file.read_bytes()
        (file.parent / "filter.new").mkdir()
        with pytest.raises(StorageError):
            ScalableBloom(capacity=1, error_rate=0.01).save(file, "hash-1")
        assert file.read_bytes() == before

    def test_the_file_is_what_the_documentation_says(self, file: Path) -> None:
        """Magic, version, header length, header, layers, checksum."""
        whole = file.read_bytes()
        magic, version, size = struct.unpack_from("<8sII", whole)
        assert (magic, version) == (b"SCBLOOM\n", 1)
        header = json.loads(whole[16 : 16 + size])
        assert header["filter"] == "pybloom-live"
        assert header["hash"] == "hash-1"
        assert header["counts"] == [10, 20, 40, 80, 160, 320, 370]
        assert len(whole) == 16 + size + sum(header["sizes"]) + 4
        assert zlib.crc32(whole[:-4]) == struct.unpack("<I", whole[-4:])[0]

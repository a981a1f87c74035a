"""Coverage-guided fuzzing of all that reads what came off the network or off a disk.

    python benchmarks/fuzz.py                       # each target for ten minutes
    python benchmarks/fuzz.py --seconds 60 url links

Atheris (libFuzzer) mutates inputs for as long as they reach new branches of `sitecrawl`. A target fails when an
exception comes out that is not its module's own, when what it promises does not hold, when one input takes longer
than `SLOW` seconds, or when the process takes more than `MEMORY` MB. Every input that did so is kept in
`tests/benchmarks/fuzz_cases/TARGET/`, where the tests try it again for ever.

Inputs start from those cases and, where it is, from the data in `../shared/data`.
Needs the extra `fuzz`: `pip install -e '.[fuzz]'`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from backports.zstd import ZstdFile

TARGETS: Final = (
    "url",
    "links",
    "labels",
    "robots",
    "codecs",
    "requests",
    "codings",
    "seeds",
    "sitemaps",
    "responses",
)
"""Functions of fuzz_targets.py."""
CASES: Final = Path(__file__).parent.parent / "tests" / "benchmarks" / "fuzz_cases"
DATA: Final = Path(__file__).parent.parent.parent / "shared" / "data"
SECONDS: Final = 600
SLOW: Final = 10
MEMORY: Final = 1000
LONGEST: Final = 1 << 16
"""Bytes of an input."""


def cases(target: str) -> Iterator[bytes]:
    """Inputs that once made `target` fail, and others worth starting from."""
    for path in sorted((CASES / target).glob("*")):
        yield path.read_bytes()


def real_inputs(target: str) -> Iterable[bytes]:
    """Real data for `target`, where it is there."""
    if target == "url" and (DATA / "urls").is_dir():
        return [line for path in (DATA / "urls").iterdir() for line in path.read_bytes().splitlines() if line]
    if target == "robots" and (DATA / "robots").is_dir():
        return [path.read_bytes() for path in (DATA / "robots").glob("*.txt")]
    if target == "links" and (DATA / "sites").is_dir():
        return list(_pages(DATA / "sites" / "httpx.tar.zst", 50))
    if target in {"seeds", "sitemaps"} and (DATA / "sitemaps").is_dir():
        return [path.read_bytes() for path in (DATA / "sitemaps").rglob("*") if path.is_file()]
    return []


def _pages(archive: Path, count: int) -> Iterator[bytes]:
    with ZstdFile(archive) as unpacked, tarfile.open(fileobj=unpacked, mode="r|") as files:
        for member in files:
            if count and member.name.endswith(".html") and (file := files.extractfile(member)):
                count -= 1
                yield b"text/html\n" + file.read(LONGEST)


def fuzz(target: str, seconds: int, corpus: Path) -> None:
    """Does not return: libFuzzer ends the process, with 0 if nothing was found."""
    import atheris  # noqa: PLC0415 - an extra, which none of the tests needs

    with atheris.instrument_imports(include=["sitecrawl", "middlewares", "protego"]):
        function = getattr(import_module("fuzz_targets"), target)
    folder = CASES / target
    folder.mkdir(parents=True, exist_ok=True)
    limits = [f"-timeout={SLOW}", f"-rss_limit_mb={MEMORY}", f"-max_len={LONGEST}", f"-max_total_time={seconds}"]
    report = ["-verbosity=0", "-print_final_stats=1", f"-artifact_prefix={folder}/"]
    atheris.Setup([sys.argv[0], *limits, *report, str(corpus)], function)
    atheris.Fuzz()


def fuzz_apart(target: str, seconds: int) -> subprocess.CompletedProcess[str]:
    """Fuzz `target` in a process of its own, from all inputs that there are."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as corpus:
        for number, data in enumerate([*cases(target), *real_inputs(target)]):
            (Path(corpus) / f"{number:06}").write_bytes(data[:LONGEST])
        words = [sys.executable, __file__, "--seconds", str(seconds), "--corpus", corpus, target]
        return subprocess.run(words, capture_output=True, text=True, check=False)


def run(targets: Sequence[str], seconds: int) -> int:
    """Each target in a process of its own; the number of those that failed."""
    failed = 0
    for target in targets:
        done = fuzz_apart(target, seconds)
        tried = next((line.split()[-1] for line in done.stderr.splitlines() if "number_of_executed" in line), "?")
        print(f"{target:<10} {tried:>12} inputs  {'nothing found' if done.returncode == 0 else 'FAILED'}", flush=True)
        if done.returncode:
            failed += 1
            print(done.stdout[-3000:] + done.stderr[-3000:])
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", default=[*TARGETS], metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="for each target")
    parser.add_argument("--corpus", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if unknown := set(arguments.targets) - set(TARGETS):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    if arguments.corpus:
        fuzz(arguments.targets[0], arguments.seconds, arguments.corpus)
    sys.exit(run(arguments.targets, arguments.seconds) > 0)


if __name__ == "__main__":
    main()

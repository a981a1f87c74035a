"""What real crawls send to a collector of OpenTelemetry's, in its own encoding."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import forks
import pytest
from crawling import environment, scrapy, stats_of, with_settings
from localweb import Answer, LocalWeb, linked
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from waiting import PATIENCE


class Collector(LocalWeb):
    """Takes OTLP over HTTP."""

    def __init__(self) -> None:
        super().__init__(lambda path, host: Answer())

    @property
    def spans(self) -> list[Any]:
        return [span for of in self._resource_spans() for scope in of.scope_spans for span in scope.spans]

    def _resource_spans(self) -> Iterator[Any]:
        for hit in self.hits:
            if hit.path == "/v1/traces":
                yield from ExportTraceServiceRequest.FromString(hit.body).resource_spans

    @property
    def about(self) -> dict[str, Any]:
        """What is said of all spans."""
        return attributes(next(self._resource_spans()).resource.attributes)

    @property
    def metrics(self) -> dict[str, Any]:
        """The last of each name."""
        found: dict[str, Any] = {}
        for hit in self.hits:
            if hit.path == "/v1/metrics":
                for of in ExportMetricsServiceRequest.FromString(hit.body).resource_metrics:
                    found |= {metric.name: metric for scope in of.scope_metrics for metric in scope.metrics}
        return found


def attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


def values(metric: Any, label: str = "") -> dict[str, float]:
    """Of a metric, by what its label says."""
    points = getattr(metric, metric.WhichOneof("data")).data_points
    named = ((attributes(point.attributes), point) for point in points)
    return {about.get(label, ""): getattr(point, point.WhichOneof("value")) for about, point in named}


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    site = {
        "/": linked("/a", "/gone", "/secret"),
        "/a": linked("/"),
        "/robots.txt": "User-agent: *\nDisallow: /secret",
    }
    with LocalWeb(site) as served:
        yield served


def crawl(web: LocalWeb, folder: Path, env: Mapping[str, str], **settings: object) -> CompletedProcess[str]:
    """The environment is what says how."""
    settings = {
        "SITECRAWL_OTEL": True, "SITECRAWL_DELAY_FACTOR": 0, "JOBDIR": folder / "job", "STATS_DUMP": True,
        "LOG_LEVEL": "INFO", **settings,
    }  # fmt: skip
    words = with_settings("crawl", "generic", "-a", f"seeds={web.root}", settings=settings)
    fork = forks.start(words, environment(**env), Path(os.devnull), folder / "log")
    return CompletedProcess(words, fork.wait(PATIENCE), "", (folder / "log").read_text())


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as started:
        yield started


@pytest.fixture(scope="module")
def done(web: LocalWeb, collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> CompletedProcess[str]:
    """A crawl of which every fetch is traced."""
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.root,
        "OTEL_TRACES_SAMPLER": "always_on",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
    }
    return crawl(web, tmp_path_factory.mktemp("crawl"), env)


class TestTraces:
    def test_one_for_each_fetch(self, done: CompletedProcess[str], collector: Collector, web: LocalWeb) -> None:
        """Also of what does not exist, and of what robots.txt forbids; each is a trace of its own."""
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        fetches = [span for span in collector.spans if span.name == "fetch"]
        about = [attributes(span.attributes) for span in fetches]
        found = {one["url.full"].removeprefix(web.root): one["sitecrawl.state"] for one in about}
        assert found == {"/": "fetched", "/a": "fetched", "/gone": "fetched", "/secret": "excluded"}
        assert len({span.trace_id for span in fetches}) == 4
        assert not any(span.parent_span_id for span in fetches)

    def test_errors(self, done: CompletedProcess[str], collector: Collector) -> None:
        """A 404 is an error, by the conventions for clients, and no other fetch is."""
        failed = [span for span in collector.spans if span.status.code == span.status.STATUS_CODE_ERROR]
        assert {attributes(span.attributes)["error.type"] for span in failed} == {"404"}
        assert [span.name for span in failed] == ["fetch"]

    def test_whose_they_are(self, done: CompletedProcess[str], collector: Collector) -> None:
        """Service, crawl and spider, and what the environment adds."""
        about = collector.about
        assert about["service.name"] == "sitecrawl"
        assert (about["sitecrawl.crawl"], about["sitecrawl.spider"]) == ("job", "generic")
        assert about["deployment.environment.name"] == "test"


class TestMetrics:
    def test_figures(self, done: CompletedProcess[str], collector: Collector) -> None:
        """Those of /metrics as they were at the end, with their units."""
        metrics = collector.metrics
        assert values(metrics["sitecrawl.responses"], "status") == {"200": 2, "404": 1}
        assert values(metrics["sitecrawl.urls"], "state")["excluded"] == 1
        assert metrics["sitecrawl.received"].unit == "By"
        assert metrics["sitecrawl.received"].sum.is_monotonic
        assert metrics["sitecrawl.resident_memory"].WhichOneof("data") == "gauge"

    def test_durations(self, done: CompletedProcess[str], collector: Collector) -> None:
        """In the classes of the dashboard's histogram."""
        (point,) = collector.metrics["sitecrawl.download"].histogram.data_points
        assert point.count == 3
        assert point.explicit_bounds[0] == 0.005


def test_what_the_environment_wants(web: LocalWeb, collector: Collector, tmp_path: Path) -> None:
    """A name of the service's own, no metrics, and traces of few fetches where no sampler is named."""
    with Collector() as other:
        env = {
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{other.root}/v1/traces",
            "OTEL_SERVICE_NAME": "mine",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_TRACES_SAMPLER": "traceidratio",
            "OTEL_TRACES_SAMPLER_ARG": "1.0",
        }
        assert crawl(web, tmp_path, env).returncode == 0
        assert other.about["service.name"] == "mine"
        assert other.metrics == {}


def test_a_collector_that_is_down(web: LocalWeb, tmp_path: Path) -> None:
    """The crawl is as it would be without it, and its log has one line of it."""
    with Collector() as gone:
        pass
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": gone.root,
        "OTEL_TRACES_SAMPLER": "always_on",
        "OTEL_METRIC_EXPORT_INTERVAL": "100",
    }
    done = crawl(web, tmp_path, env)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert len([line for line in done.stderr.splitlines() if "WARNING: OpenTelemetry: " in line]) == 1, done.stderr
    assert stats_of(done.stderr)["otel/errors"] >= 1


@pytest.mark.deep
def test_a_collector_that_hangs(web: LocalWeb, tmp_path: Path) -> None:
    """The end waits for it, and not for long: the crawl ends before the collector has said a word."""
    over = threading.Event()

    def answer(path: str, host: str) -> str:
        over.wait(PATIENCE)
        return ""

    with LocalWeb(answer) as hangs:
        env = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": hangs.root,
            "OTEL_TRACES_SAMPLER": "always_on",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "90000",
        }
        done = crawl(web, tmp_path, env)
        over.set()
    assert done.returncode == 0, done.stderr
    assert "Not all telemetry was sent" in done.stderr


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "speaks http/protobuf"),
        ("OTEL_TRACES_EXPORTER", "zipkin", "has otlp and none"),
    ],
)
def test_what_there_is_not(web: LocalWeb, tmp_path: Path, variable: str, value: str, says: str) -> None:
    """One line says it, before anything is fetched."""
    done = crawl(web, tmp_path, {variable: value}, LOG_LEVEL="WARNING")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert variable in line
    assert says in line


def test_without_the_extra(web: LocalWeb, tmp_path: Path) -> None:
    """One line says how to install it."""
    (tmp_path / "opentelemetry.py").write_text("raise ImportError('there is none')")
    settings = {"SITECRAWL_OTEL": True, "JOBDIR": tmp_path / "job"}
    words = ("crawl", "generic", "-a", f"seeds={web.root}")
    done = scrapy(*words, settings=settings, env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "scrapy-sitecrawl[otel]" in line


@pytest.mark.deep
def test_what_they_quote(web: LocalWeb, collector: Collector, tmp_path: Path) -> None:
    """A key for the collector that is written otherwise than they want it is in no line of the log; nor is there a
    traceback of a number that is none.
    """
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.root,
        "OTEL_EXPORTER_OTLP_HEADERS": "api-key: 5ec2e7",
        "OTEL_METRIC_EXPORT_INTERVAL": "0",
    }
    done = crawl(web, tmp_path, env, LOG_LEVEL="DEBUG")
    assert done.returncode == 0, done.stderr
    assert "WARNING: OpenTelemetry: Header format invalid!" in done.stderr
    assert "WARNING: OpenTelemetry: interval value 0.0 is invalid" in done.stderr
    assert "5ec2e7" not in done.stderr
    assert "Traceback" not in done.stderr

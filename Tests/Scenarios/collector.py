"""A collector of traces: the OTLP service over gRPC, on the public messages of the package `opentelemetry-proto`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as services
from waiting import until

KINDS = {1: "internal", 2: "server", 3: "client", 4: "producer", 5: "consumer"}


@dataclass
class Span:
    trace_id: str
    span_id: str
    parent_id: str
    name: str
    kind: str
    start_nanos: int
    end_nanos: int
    attributes: dict[str, Any]
    failed: bool
    resource: dict[str, Any] = field(default_factory=dict)


def values(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


class Collector(services.TraceServiceServicer):
    def __init__(self, credentials: grpc.ServerCredentials | None = None, port: int = 0) -> None:
        self.spans: list[Span] = []
        self._lock = threading.Lock()
        self._server = grpc.server(futures.ThreadPoolExecutor(2))
        services.add_TraceServiceServicer_to_server(self, self._server)
        address = f"127.0.0.1:{port}"
        self.port = self._server.add_secure_port(address, credentials) if credentials \
            else self._server.add_insecure_port(address)
        self._server.start()

    def Export(self, request: Any, context: Any) -> Any:
        with self._lock:
            for group in request.resource_spans:
                for scope in group.scope_spans:
                    self.spans += [
                        Span(each.trace_id.hex(), each.span_id.hex(), each.parent_span_id.hex(), each.name,
                             KINDS[each.kind], each.start_time_unix_nano, each.end_time_unix_nano,
                             values(each.attributes), each.status.code == 2, values(group.resource.attributes))
                        for each in scope.spans]
        return service.ExportTraceServiceResponse()

    def named(self, name: str) -> list[Span]:
        with self._lock:
            return [span for span in self.spans if span.name == name]

    def wait(self, holds: Callable[[Collector], object]) -> None:
        until(lambda: holds(self))

    def stop(self) -> None:
        self._server.stop(0).wait()


def text(spans: list[Span]) -> str:
    """The traces as indented text, each span with its duration and attributes."""
    lines: list[str] = []

    def add(span: Span, depth: int, begun: int) -> None:
        offset, took = (span.start_nanos - begun) / 1e6, (span.end_nanos - span.start_nanos) / 1e6
        shown = " ".join(f"{name}={value}" for name, value in sorted(span.attributes.items()))
        mark = " FAILED" if span.failed else ""
        lines.append(f"{'  ' * depth}{span.name} [{span.kind}] +{offset:.3f} ms, {took:.3f} ms{mark} {shown}".rstrip())
        for child in sorted(spans, key=lambda each: each.start_nanos):
            if child.parent_id == span.span_id:
                add(child, depth + 1, begun)

    known = {span.span_id for span in spans}
    for root in sorted(spans, key=lambda each: each.start_nanos):
        if root.parent_id not in known:
            lines.append(f"trace {root.trace_id}" + (f", below span {root.parent_id}" if root.parent_id else ""))
            add(root, 1, root.start_nanos)
    return "\n".join(lines)

"""The HTTP server of the review page, on the loopback address, for the local user only.

Requests without the random token of the address, or sent by other web pages (checked by Host and
Origin), are rejected. Recordings and components are numbers, so that none becomes part of a path.
"""

import hmac
import json
import math
import re
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from mne.utils import logger

from mne_otica.artifacts import kinds
from mne_otica.study.review import Review
from mne_otica.study.review_data import Refusal
from mne_otica.study.summary_page import page_file

Answer = tuple[bytes, str, dict[str, str]]  # body, type and further headers
_ADDRESS = "127.0.0.1"
_LARGEST_BODY = 64 * 1024  # bytes; a decision with a long note needs less than a tenth of that
_IDLE = 60  # s that a connection may be idle, or take to send a request
_MOST_CONNECTIONS = 32  # a browser opens six
_JSON, _HTML = "application/json; charset=utf-8", "text/html; charset=utf-8"
_CSS, _SCRIPT = "text/css; charset=utf-8", "text/javascript; charset=utf-8"
_PAGES = {"": ("index.html", _HTML), "review.css": ("review.css", _CSS)}
_PAGES |= {name: (name, _SCRIPT) for name in ("review.js", "draw.js", "page.js")}
# The method of the review that answers each question, and the parameters it needs and takes
_ASKED = {
    "api/study": ("study", (), ()),
    "report": ("report", ("recording",), ()),
    "api/recording": ("recording", ("recording",), ()),
    "api/component": ("component", ("recording", "component"), ()),
    "api/effect": ("effect", ("recording", "component"), ("channel", "start")),
}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
# MNE's reports contain scripts, which run in a sandbox.
_REPORT_POLICY = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; " + (
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)


class ReviewServer(ThreadingHTTPServer):
    """The server of the review of one study; port 0 is any that is free."""

    daemon_threads = True

    def __init__(self, review: Review, port: int = 0) -> None:
        super().__init__((_ADDRESS, port), _Handler)
        self.review = review
        # When to close each connection; infinity while its request is answered.
        self.deadlines: dict[socket.socket, float] = {}
        self.token = secrets.token_urlsafe()
        self.hosts = f"{_ADDRESS}:{self.server_port}", f"localhost:{self.server_port}"
        self.address = f"http://{self.hosts[0]}/{self.token}/"
        self.pages = {k: (page_file(name).encode(), kind) for k, (name, kind) in _PAGES.items()}

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a new thread, or close it if there are too many."""
        if len(self.deadlines) >= _MOST_CONNECTIONS:
            self.shutdown_request(request)
            return
        self.deadlines[request] = time.monotonic() + _IDLE
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        self.deadlines.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log errors of connections that were closed by the other side."""
        logger.debug("Review: a connection was closed early.")

    def service_actions(self) -> None:
        """Close connections that send their requests too slowly; called twice a second."""
        for connection, deadline in list(self.deadlines.items()):
            if deadline < time.monotonic():
                with suppress(OSError):  # it may have been closed meanwhile
                    connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    """One request, which is checked before it is answered."""

    server: ReviewServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "mne_otica", ""
    timeout = _IDLE

    def handle_one_request(self) -> None:
        """Read a request and answer it."""
        self._allow(_IDLE)
        super().handle_one_request()

    def _allow(self, seconds: float) -> None:
        self.server.deadlines[self.connection] = time.monotonic() + seconds

    def do_GET(self) -> None:
        """Answer with a page or with data."""
        self._allow(math.inf)
        self._answer(self._get)

    def do_POST(self) -> None:
        """Record a decision."""
        self._answer(self._post)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Reply to malformed requests and unknown methods."""
        if code == HTTPStatus.NOT_IMPLEMENTED:
            code = HTTPStatus.METHOD_NOT_ALLOWED
        self._refuse(HTTPStatus(code), message or HTTPStatus(code).phrase, {})

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, the base class's name
        """Log nothing, as addresses contain the token."""

    def _answer(self, act: Callable[[str, str], Answer]) -> None:
        try:
            address = urlsplit(self.path)
            self._check_sender()
            token, slash, path = address.path.removeprefix("/").partition("/")
            if not slash or not hmac.compare_digest(token.encode(), self.server.token.encode()):
                told = "Open the address that mne_otica review has printed."
                raise Refusal(HTTPStatus.FORBIDDEN, told)
            self._send(HTTPStatus.OK, *act(path, address.query))
        except Refusal as refusal:
            self._refuse(refusal.status, str(refusal), refusal.facts)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True  # the browser has disconnected
        except ValueError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error), {})
        except Exception as error:  # an error in one recording must not end the review
            logger.warning(f"Review: {type(error).__name__}: {error}")
            told = f"It cannot be shown ({type(error).__name__}: {error})."
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, told, {})

    def _check_sender(self) -> None:
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0] not in self.server.hosts:
            raise Refusal(HTTPStatus.FORBIDDEN, "This server is for this machine only.")
        origin = self.headers.get("Origin", f"http://{hosts[0]}")
        site = self.headers.get("Sec-Fetch-Site", "same-origin")
        # Following a link to the page is allowed from anywhere.
        followed = self.headers.get("Sec-Fetch-Mode") == "navigate" and self.command == "GET"
        foreign = site not in ("same-origin", "none") and not followed
        if origin != f"http://{hosts[0]}" or foreign:
            raise Refusal(HTTPStatus.FORBIDDEN, "Another page may not use this server.")

    def _get(self, path: str, query: str) -> Answer:
        if path in self.server.pages:
            return *self.server.pages[path], {}
        if path not in _ASKED:
            raise Refusal(HTTPStatus.NOT_FOUND, "There is no such page.")
        method, needed, optional = _ASKED[path]
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=8)
        asked = dict(pairs)
        if len(asked) != len(pairs):
            raise ValueError("A parameter is given twice.")
        values = [_number(asked, name) for name in needed]
        values += [_number(asked, name) if name in asked else None for name in optional]
        found = getattr(self.server.review, method)(*values)
        if path == "report":
            return found, _HTML, {"Content-Security-Policy": _REPORT_POLICY}
        return _json(found)

    def _post(self, path: str, query: str) -> Answer:
        if path != "api/decision":
            raise Refusal(HTTPStatus.NOT_FOUND, "There is no such page.")
        if "Origin" not in self.headers:
            raise Refusal(HTTPStatus.FORBIDDEN, "Only the page may send decisions.")
        body = self._body()
        index, component = (_field(body, one, int) for one in ("recording", "component"))
        version = _field(body, "version", str)
        status, note, kind = (_field(body, one, str | None) for one in ("status", "note", "kind"))
        if status not in ("good", "bad", None) or {status, note, kind} == {None}:
            raise ValueError(f"Status {status!r} is neither good nor bad.")
        if kind not in (*kinds(), "", None):
            raise ValueError(f"{kind!r} is no kind of artifact.")
        return _json(self.server.review.decide(index, component, version, status, note, kind))

    def _body(self) -> dict[str, Any]:
        if self.headers.get_content_type() != "application/json":
            raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Decisions are sent as JSON.")
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdecimal() or "Transfer-Encoding" in self.headers:
            raise Refusal(HTTPStatus.LENGTH_REQUIRED, "The length of the body must be given.")
        if int(length) > _LARGEST_BODY:
            told = f"At most {_LARGEST_BODY} bytes are taken."
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, told)
        text = self.rfile.read(int(length))
        self._allow(math.inf)
        try:
            body = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError("The body is not JSON.") from error
        if not isinstance(body, dict):
            raise ValueError("The body is not a JSON object.")
        return body

    def _send(self, status: HTTPStatus, body: bytes, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        headers = _HEADERS | headers | {"Content-Type": kind, "Content-Length": str(len(body))}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, status: HTTPStatus, message: str, facts: dict[str, Any]) -> None:
        """Reply with an error, and close the connection."""
        self.close_connection = True
        self._send(status, *_json({"error": message} | facts)[:2], {"Connection": "close"})
        if self.command == "POST":  # if the connection closes earlier, the reply may be lost
            self._allow(_IDLE)
            self.connection.settimeout(1.0)
            with suppress(OSError):
                while self.rfile.read1(_LARGEST_BODY):
                    pass


def _json(content: Any) -> Answer:
    return json.dumps(content, allow_nan=False).encode(), _JSON, {}


def _number(asked: dict[str, str], name: str) -> int | float:
    # Seconds are as JavaScript writes any time.
    kind, pattern = (float, r"\d{1,8}(\.\d{1,20})?") if name == "start" else (int, r"\d{1,6}")
    if not re.fullmatch(pattern, asked.get(name, ""), re.ASCII):
        raise ValueError(f"{name} must be a number.")
    return kind(asked[name])


def _field(body: dict[str, Any], name: str, kind: Any) -> Any:
    """Return a field of a decision; booleans do not count as numbers."""
    value = body.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{name} is missing, or has the wrong type.")
    return value

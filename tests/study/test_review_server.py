"""What the server of the review refuses: it answers with a 4xx, and changes nothing."""

import http.client
import json
import shutil
import socket
import time
from pathlib import Path

import pytest
from reviewing import everything, number, serving, version

from mne_otica.study.review import Review
from mne_otica.study.review_server import ReviewServer


@pytest.fixture(scope="module")
def server(reviewed, tmp_path_factory):
    out = shutil.copytree(reviewed, tmp_path_factory.mktemp("served") / "out")
    with serving(Review(Path(out), "Ann")) as server:
        yield server


def send(server, path, body=None, *, method=None, prefix=None, host=None, **headers):
    """Return the status, the headers and the body of the answer to any request."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    prefix = f"/{server.token}/" if prefix is None else prefix
    host = server.hosts[0] if host is None else host
    method = method or ("GET" if body is None else "POST")
    named = {"Host": host} if host else {}
    if body is not None:
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        named |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        named |= {"Origin": f"http://{host}"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.putrequest(method, prefix + path, skip_host=True, skip_accept_encoding=True)
        for name, value in named.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def decision(server, **changes):
    review = server.review
    seen = version(review, number(review, "one"))
    right = {"recording": number(review, "one"), "component": 3, "status": "bad", "version": seen}
    return {name: value for name, value in (right | changes).items() if value is not ...}


def assert_refused(server, *arguments, status=range(400, 500), **options):
    """Send a request, and see that it is answered with a 4xx and changes nothing."""
    before = everything(server.review.out)
    answer = send(server, *arguments, **options)
    assert answer[0] in status, answer
    assert everything(server.review.out) == before
    return answer


def test_page_needs_nothing_from_elsewhere(server):
    for path in ("", "review.css", "review.js", "draw.js", "page.js"):
        status, headers, body = send(server, path)
        assert status == 200
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        text = body.decode().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text
        assert "https://" not in text
    for host in server.hosts:
        assert json.loads(send(server, "api/study", host=host)[2])["who"] == "Ann"
    report = send(server, f"report?recording={number(server.review, 'one')}")
    assert "sandbox" in report[1]["Content-Security-Policy"]


def test_server_is_for_this_machine_only(server):
    assert server.server_address[0] == "127.0.0.1"
    assert len(server.token) >= 40
    with ReviewServer(server.review) as other:
        assert other.token != server.token


@pytest.mark.parametrize("change", [str.lower, lambda token: token[:-1], lambda token: token + "x"])
def test_almost_the_token(server, change):
    if change(server.token) != server.token:
        assert_refused(server, "", prefix=f"/{change(server.token)}/", status=[403])


@pytest.mark.parametrize("prefix", ["/", "//", "/x/", "/%C3%A9/", "/../", "", "http://x/"])
def test_wrong_token(server, prefix):
    for path in ("", "api/study", "api/recording?recording=0"):
        assert_refused(server, path, prefix=prefix)
    assert_refused(server, "api/decision", decision(server), prefix=prefix)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{}", "127.0.0.1", "127.0.0.1:1"])
def test_foreign_host(server, host):
    """A page of another name that points to this machine gets nothing."""
    host = host.format(server.server_port)
    assert_refused(server, "api/study", host=host, status=[403])
    assert_refused(server, "api/decision", decision(server), host=host, status=[403])


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://{}", "http://{}.x", ""])
def test_foreign_origin(server, origin):
    origin = origin.format(server.hosts[0])
    assert_refused(server, "api/study", Origin=origin, status=[403])
    assert_refused(server, "api/decision", decision(server), Origin=origin, status=[403])


def test_requests_of_other_pages(server):
    assert_refused(server, "api/decision", decision(server), Origin=None, status=[403])
    other = {"Sec_Fetch_Site": "cross-site"}
    assert_refused(server, "api/study", status=[403], **other)
    assert_refused(server, "api/decision", decision(server), Sec_Fetch_Mode="navigate", **other)
    assert send(server, "", Sec_Fetch_Mode="navigate", **other)[0] == 200, "a link to the page"
    assert_refused(server, "api/study", host="", status=[400, 403])
    simple = {"Content_Type": "text/plain"}  # the kind that a form may send anywhere
    assert_refused(server, "api/decision", decision(server), status=[415], **simple)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "DANCE"])
def test_other_methods(server, method):
    assert_refused(server, "api/study", method=method, status=[405])


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "review.css/../../_server.py",
        "/etc/passwd",
        "index.html",
        "api/",
        "api/nothing",
        "report",
        "report?recording=../one",
        "api/recording?recording=..",
        "api/recording?recording=-1",
        "api/recording?recording=99",
        "api/recording?recording=%D9%A1",  # a digit, but not an ASCII one
        "api/recording?recording=1&recording=2",
        "api/recording?recording=1" + "&x=1" * 10,
        "api/component?recording=..&component=0",
        "api/component?recording=1&component=..",
        "api/component?recording=1&component=99",
        "api/effect?recording=..&component=0",
        "api/effect?recording=1&component=../..",
        "api/effect?recording=1&component=0&channel=..",
        "api/effect?recording=1&component=0&channel=99",
        "api/effect?recording=1&component=0&start=..",
        "api/effect?recording=1&component=0&start=nan",
        "api/effect?recording=1&component=0&start=-1",
    ],
)
def test_paths_and_parameters_that_are_none(server, path):
    assert b"root:" not in assert_refused(server, path)[2]


@pytest.mark.parametrize("path", ["", "api/study", "api/nothing", "..", "api/decision/.."])
def test_decisions_sent_elsewhere(server, path):
    assert_refused(server, path, decision(server), status=[404])


@pytest.mark.parametrize(
    "changes",
    [
        {"recording": ".."},
        {"recording": "../one"},
        {"recording": -1},
        {"recording": 99},
        {"recording": True},
        {"recording": 1.0},
        {"recording": None},
        {"component": ".."},
        {"component": 99},
        {"component": -1},
        {"component": [3]},
        {"status": ".."},
        {"status": "BAD"},
        {"status": 1},
        {"status": None},
        {"version": ".."},
        {"version": 1},
        {"version": ...},
        {"note": 5},
        {"note": "x" * 3000},
    ],
)
def test_decisions_that_are_none(server, changes):
    assert_refused(server, "api/decision", decision(server, **changes))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"no JSON",
        b"\xff\xfe",
        b"[" * 60000,
        b"[]",
        b'"x"',
        b"null",
        b"x" * 65537,
        b"x" * 10_000_000,
    ],
)
def test_broken_and_huge_bodies(server, body):
    status = [413] if len(body) > 65536 else [400]
    assert_refused(server, "api/decision", body, status=status)


def test_bodies_of_unknown_length(server):
    body = b"0\r\n\r\n"
    chunked = {"Transfer_Encoding": "chunked", "Content_Length": None}
    assert_refused(server, "api/decision", body, status=[411], **chunked)
    assert_refused(server, "api/decision", body, status=[411], Content_Length="-1")
    assert_refused(server, "api/decision", body, status=[411], Content_Length="5e0")


@pytest.mark.parametrize(
    "text",
    [
        b"\x00\xff nothing like a request\r\n\r\n",
        b"GET /" + b"x" * 70000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"GET http://[ HTTP/1.1\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
    ],
    ids=["noise", "long", "headers", "address", "version"],
)
def test_what_is_no_request(server, text):
    before = everything(server.review.out)
    with socket.create_connection(server.server_address, timeout=30) as connection:
        connection.sendall(text)
        answer = connection.makefile("rb").read()
    assert b'{"error": ' in answer
    assert everything(server.review.out) == before


def test_rows_that_lead_elsewhere_are_not_followed(reviewed, tmp_path):
    """Notes of a study may come from anyone; a name in them is no path."""
    out = Path(shutil.copytree(reviewed, tmp_path / "out"))
    rows = out / ".mne_otica" / "rows"
    content = json.loads((rows / "one.json").read_text())
    content["row"]["recording"] = "../elsewhere"
    (rows / "odd.json").write_text(json.dumps(content))
    assert [
        item.row["recording"] for item in Review(out, "Ann").items if ".." in item.row["recording"]
    ] == []


def test_report_that_is_a_link_is_not_followed(review, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    report = review.out / "one_proc-clean_report.html"
    report.unlink()
    report.symlink_to(secret)
    with serving(review) as server:
        status, _, body = send(server, f"report?recording={number(review, 'one')}")
    assert status == 404
    assert b"secret" not in body


def test_every_start_that_the_server_names_is_accepted(server):
    index = number(server.review, "one")
    status, _, body = send(server, f"api/effect?recording={index}&component=0&start=0.22265625")
    assert status == 200
    assert json.loads(body)["start"] == pytest.approx(0.22)


def test_slow_and_many_connections_are_closed(review, monkeypatch):
    monkeypatch.setattr("mne_otica.study.review_server._IDLE", 1)
    monkeypatch.setattr("mne_otica.study.review_server._MOST_CONNECTIONS", 4)
    with serving(review) as server:
        address = "127.0.0.1", server.server_port
        slow = [socket.create_connection(address, timeout=5) for _ in range(6)]
        for connection in slow[4:]:
            assert connection.recv(1) == b"", "one too many"
        assert len(server.deadlines) == 4
        closed, started = False, time.monotonic()
        while not closed and time.monotonic() - started < 5:
            try:
                slow[0].sendall(b"G")  # never idle for long
                slow[0].settimeout(0.2)
                closed = slow[0].recv(1) == b""
            except TimeoutError:
                pass
            except OSError:
                closed = True
        assert closed
        for connection in slow:
            connection.close()
        while server.deadlines and time.monotonic() - started < 10:
            time.sleep(0.05)
        assert send(server, "api/study")[0] == 200

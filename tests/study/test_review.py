"""The review page: what it shows, what it writes and what it refuses."""

import csv
import http.client
import json
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import mne
import pytest

from mne_otica import clean_study
from mne_otica.cli import main
from mne_otica.simulation import simulate_raw
from mne_otica.study._components import bad_components, cells, edited_text, read_table
from mne_otica.study._review import Refusal, Review
from mne_otica.study._server import ReviewServer

SIZE = "--window-size=1280,900"
LONG = 20.0  # s that a browser may take for what takes it a moment


def simulated(seed, n_blinks=8, **options):
    return simulate_raw(10, 30, 100.0, n_blinks=n_blinks, random_state=seed, **options).raw


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Two recordings with blinks, one without, and one that is empty."""
    folder = tmp_path_factory.mktemp("in")
    with mne.use_log_level("error"):
        for name, seed, n_blinks in (("one", 0, 8), ("two", 1, 8), ("still", 2, 0)):
            simulated(seed, n_blinks).save(folder / f"{name}_raw.fif")
    (folder / "empty.edf").touch()
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def finished(inputs, tmp_path_factory):
    out = tmp_path_factory.mktemp("study") / "out"
    with mne.use_log_level("error"):
        clean_study(inputs, out)
    return out


@pytest.fixture
def out(finished, tmp_path):
    """A copy of the study, to be decided about."""
    return Path(shutil.copytree(finished, tmp_path / "out"))


@pytest.fixture
def review(out):
    return Review(out, "Ann")


def everything(folder):
    """Return all files but the lock, which is empty."""
    paths = (path for path in sorted(folder.rglob("*")) if path.name != "review.lock")
    return {path: path.read_bytes() for path in paths if path.is_file()}


def written(out, pattern="*_proc-clean*raw.fif"):
    """Return when each cleaned recording was written."""
    return {path.name: path.stat().st_mtime_ns for path in out.rglob(pattern)}


def anew(before, out):
    """Return the recordings that were cleaned since."""
    names = [name for name, when in written(out).items() if before[name] != when]
    return sorted(name.split("_proc")[0] for name in names)


def number(review, label):
    return [item.label for item in review.items].index(label)


def table_of(out, label="one"):
    return out / f"{label}_proc-ica_components.tsv"


def version(review, index):
    return review.recording(index)["version"]


def flip(review, label, component, status, note=None):
    index = number(review, label)
    return review.decide(index, component, version(review, index), status, note)


# %% What is shown


def test_worst_come_first(review):
    recordings = review.study()["recordings"]
    assert recordings[0]["label"] == "empty"
    assert recordings[0]["status"] == "failed"
    harms = [one["harm"] or 0.0 for one in recordings[1:]]
    assert harms == sorted(harms, reverse=True)


def test_failed_recording_says_why(review):
    assert "0 bytes" in review.study()["recordings"][0]["message"]
    shown = review.recording(0)
    assert shown["components"] == []
    assert "no components" in shown["problem"]
    with pytest.raises(Refusal, match="cannot be shown"):
        review.effect(0, None, None, 0)


def test_components_are_those_of_the_table_and_the_ica(review, out):
    shown = review.recording(number(review, "one"))
    ica = mne.preprocessing.read_ica(out / "one_proc-ica_ica.fif")
    assert [int(row["component"]) for row in shown["components"]] == list(range(ica.n_components_))
    removed = [k for k, row in enumerate(shown["components"]) if row["status"] == "bad"]
    assert removed == ica.exclude
    assert "blink" in shown["components"][removed[0]]["status_description"]
    assert shown["channels"] == ica.ch_names
    assert len(shown["topographies"]["maps"]) == ica.n_components_


def test_course_and_before_and_after_are_those_of_the_recording(review, out, inputs):
    """Blinks are where they are known to be, and what is drawn spans what the data span."""
    index = number(review, "one")
    (removed,) = bad_components(read_table(table_of(out), 10))
    course = review.component(index, removed)
    assert course["seconds"] == 30
    effect = review.effect(index, None, None, removed)
    assert len(effect["events"]) == 8
    assert effect["removed"] == [removed]
    fp1 = review.recording(index)["channels"].index("Fp1")
    effect = review.effect(index, fp1, 0.0, removed)
    raw = mne.io.read_raw(inputs[1], preload=True).filter(1, 40)
    shown = 1e6 * raw.get_data("Fp1")[0, : int(10 * raw.info["sfreq"])]
    assert max(effect["before"]) == pytest.approx(shown.max(), abs=0.01)  # as it is rounded
    assert min(effect["before"]) == pytest.approx(shown.min(), abs=0.01)
    average = effect["average"]
    assert max(average["after"]) < 0.2 * max(average["before"])


def test_window_without_a_start_has_as_many_events_as_any(review):
    index = number(review, "two")
    effect = review.effect(index, 0, None, 0)
    events, length = effect["events"], effect["length"]

    def inside(start):
        return sum(start <= event <= start + length for event in events)

    assert inside(effect["start"]) >= max(inside(event) for event in events) - 1


def test_recording_without_positions_has_maps_at_standard_ones(inputs, tmp_path):
    raw = mne.io.read_raw(inputs[1], preload=True).set_montage(None)
    raw.save(tmp_path / "named_raw.fif")
    names = {name: f"E{k}" for k, name in enumerate(raw.ch_names)}
    raw.rename_channels(names).save(tmp_path / "unnamed_raw.fif")
    clean_study(sorted(tmp_path.glob("*.fif")), tmp_path / "out")
    review = Review(tmp_path / "out", "Ann")
    shown = {one: review.recording(number(review, one)) for one in ("named", "unnamed")}
    assert shown["named"]["topographies"]["source"] == "standard"
    assert shown["unnamed"]["topographies"]["maps"] is None
    assert len(shown["unnamed"]["topographies"]["weights"]) == 10


def test_what_the_study_knows_is_shown_without_the_recording(inputs, tmp_path):
    path = Path(shutil.copy(inputs[1], tmp_path / "gone_raw.fif"))
    clean_study([path], tmp_path / "out")
    path.unlink()
    review = Review(tmp_path / "out", "Ann")
    assert review.study()["recordings"][0]["benefit"] > 0.5
    shown = review.recording(0)
    assert not shown["has_signals"]
    assert len(shown["components"]) == len(shown["topographies"]["maps"])
    assert b"<html" in review.report(0)
    with pytest.raises(Refusal, match="does not exist"):
        review.effect(0, None, None, 0)
    assert flip(review, "gone", 3, "bad")["components"][3]["status"] == "bad"


def test_folder_without_a_study(tmp_path, capsys):
    assert main(["review", str(tmp_path), "--no-browser"]) == 1
    assert "holds no study" in capsys.readouterr().err


# %% What is written


def test_decision_is_an_edit_by_hand(out, review):
    table = table_of(out)
    before = everything(out)
    old = table.read_text(encoding="utf-8").splitlines()
    answer = flip(review, "one", 3, "bad", "looks like\ta\n\x00 blink ")
    assert answer["changed"]
    new = table.read_text(encoding="utf-8").splitlines()
    assert new[0].split("\t") == [*old[0].split("\t"), "note", "who", "when"]
    row = cells("\n".join(new))[3]
    assert (row["status"], row["status_description"]) == ("bad", "Removed by hand")
    assert (row["who"], row["note"]) == ("Ann", "looks like a blink")
    assert row["when"].startswith("20")
    for k, (one, other) in enumerate(zip(old[1:], new[1:], strict=True)):
        if k != 3:
            assert other == one + "\tn/a" * 3
    after = everything(out)
    assert {path for path in after if after[path] != before.get(path)} == {table}


def test_run_applies_what_was_decided_and_nothing_else(out, review, inputs):
    index = number(review, "one")
    (removed,) = bad_components(read_table(table_of(out), 10))
    flip(review, "one", 3, "bad")
    shown = review.effect(index, None, None, 3)
    assert shown["removed"] == sorted([removed, 3])
    cleaned = written(out)
    study = clean_study(inputs, out)
    assert anew(cleaned, out) == ["one"]
    (row,) = [row for row in study.rows if row["recording"] == "one"]
    # What was shown before is what came of it, to the last digit.
    assert (row["benefit"], row["harm"]) == (shown["benefit"], shown["harm"])
    assert row["message"] == shown["verdict"]
    assert not any(one["changed"] for one in review.study()["recordings"])


def test_changing_ones_mind_leaves_nothing_to_do(out, review, inputs):
    (removed,) = bad_components(read_table(table_of(out), 10))
    before = read_table(table_of(out), 10)
    flip(review, "one", removed, "good")
    assert read_table(table_of(out), 10)[removed][1].startswith("Kept by hand; before: Auto")
    assert not flip(review, "one", removed, "bad")["changed"]
    assert read_table(table_of(out), 10) == before
    cleaned = written(out)
    clean_study(inputs, out)
    assert anew(cleaned, out) == []


def test_table_of_a_spreadsheet_stays_one(out, review):
    """The byte order mark, the line ends and columns of the person's own are kept."""
    table = table_of(out)
    lines = table.read_text(encoding="utf-8").splitlines()
    lines = [f"{line}\t{'mine' if k == 0 else k}" for k, line in enumerate(lines)]
    lines[2] = lines[2].replace("n/a", '"a ""quoted"" reason"', 1)
    table.write_text("\r\n".join(lines) + "\r\n", encoding="utf-8-sig", newline="")
    flip(review, "one", 4, "bad", '"quoted')
    text = table.read_bytes()
    assert text.startswith("\ufeff".encode())
    assert text.count(b"\r\n") == text.count(b"\n") == 11
    rows = cells(text.decode())
    assert [row["mine"] for row in rows.values()] == [str(k) for k in range(1, 11)]
    assert rows[1]["status_description"] == 'a "quoted" reason'
    assert rows[4]["note"] == '"quoted'
    assert bad_components(read_table(table, 10))[-1] == 4


def test_decisions_outlive_another_search(out, review, inputs):
    flip(review, "one", 3, "bad", "seen")
    clean_study(inputs, out, max_components=1)
    row = cells(table_of(out).read_text(encoding="utf-8"))[3]
    assert (row["status"], row["who"], row["note"]) == ("bad", "Ann", "seen")


def test_marks_and_notes_on_recordings(out, review):
    shown = review.study()["recordings"][1]
    marked = review.mark(1, shown["version"], True, "ask\nBob")
    assert (marked["later"], marked["note"]) == (True, "ask Bob")
    review.mark(2, review.study()["recordings"][2]["version"], False, "fine")
    with open(out / "review.tsv", encoding="utf-8") as file:
        rows = {row["recording"]: row for row in csv.DictReader(file, delimiter="\t")}
    assert rows[shown["label"]]["later"] == "yes"
    assert rows[shown["label"]]["who"] == "Ann"
    again = Review(out, "Bob").study()["recordings"]
    assert [one["later"] for one in again] == [False, True, False, False]
    with pytest.raises(Refusal, match="Someone else") as refusal:
        review.mark(1, shown["version"], False, "")
    assert refusal.value.facts["recording"]["note"] == "ask Bob"


def test_decision_on_another_table_is_refused(out, review):
    index = number(review, "one")
    seen = version(review, index)
    table = table_of(out)
    table.write_text(edited_text(table.read_text(), {5: {"status": "bad"}}))
    before = everything(out)
    with pytest.raises(Refusal, match="Someone else") as refusal:
        review.decide(index, 3, seen, "bad", None)
    assert refusal.value.status == 409
    assert refusal.value.facts["components"][5]["status"] == "bad"
    assert everything(out) == before
    table.write_text("no table at all")
    with pytest.raises(Refusal, match="no column"):
        review.decide(index, 3, seen, "bad", None)
    assert table.read_text() == "no table at all"


def test_people_at_once_lose_nothing(out):
    """Two servers on one study, both writing to one table as fast as they can."""
    people = [Review(out, "Ann"), Review(out, "Bob")]
    index = number(people[0], "one")

    def work(one, components):
        for component in components:
            while True:
                try:
                    one.decide(index, component, version(one, index), "bad", f"by {one.who}")
                    break
                except Refusal:  # the other one was faster
                    continue

    threads = [
        threading.Thread(target=work, args=(one, range(k, 10, 2))) for k, one in enumerate(people)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = cells(table_of(out).read_text(encoding="utf-8"))
    assert [row["note"] for row in rows.values()] == ["by Ann", "by Bob"] * 5
    assert bad_components(read_table(table_of(out), 10)) == list(range(10))


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
def test_decision_holds_for_all_runs_of_one_ica(tmp_path):
    mne_bids = pytest.importorskip("mne_bids")
    for seed, run in enumerate(("01", "02")):
        raw = simulated(seed)
        raw.info["line_freq"] = 50
        path = mne_bids.BIDSPath(subject="01", task="rest", run=run, datatype="eeg", root=tmp_path)
        mne_bids.write_raw_bids(
            raw, path, format="BrainVision", allow_preload=True, verbose="error"
        )
    out = clean_study(bids_root=tmp_path, concatenate_runs=True, verbose="error").out
    review = Review(out, "Ann")
    assert review.study()["name"] == tmp_path.name
    assert len(review.recording(0)["shared"]) == 1
    removed = review.effect(0, None, None, 0)["removed"]
    assert removed == review.effect(1, None, None, 0)["removed"]
    other = next(k for k in range(10) if k not in removed)
    review.decide(0, other, version(review, 0), "bad", None)
    assert [one["changed"] for one in review.study()["recordings"]] == [True, True]
    shown = review.effect(1, None, None, 0)
    study = clean_study(bids_root=tmp_path, concatenate_runs=True, verbose="error")
    rows = {row["recording"]: row for row in study.rows}
    assert rows[review.items[1].label]["harm"] == shown["harm"]


# %% What is refused


@contextmanager
def serving(review):
    """Serve a study in this process."""
    with ReviewServer(review) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def server(finished, tmp_path_factory):
    out = shutil.copytree(finished, tmp_path_factory.mktemp("served") / "out")
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
    for path in ("", "review.css", "review.js", "draw.js"):
        status, headers, body = send(server, path)
        assert status == 200
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        text = body.decode().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text
        assert "https://" not in text
    assert json.loads(send(server, "api/study")[2])["who"] == "Ann"
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
        {"version": ".."},
        {"version": 1},
        {"version": ...},
        {"note": 5},
        {"note": "x" * 3000},
    ],
)
def test_decisions_that_are_none(server, changes):
    assert_refused(server, "api/decision", decision(server, **changes))
    marked = {"later": True, "note": ""} | changes
    if set(changes) & {"recording", "version", "note"}:
        assert_refused(server, "api/mark", decision(server, **marked))
    assert_refused(server, "api/mark", decision(server, note="", later="yes"))


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


def test_rows_that_lead_elsewhere_are_not_followed(finished, tmp_path):
    """Notes of a study may come from anyone; a name in them is no path."""
    out = Path(shutil.copytree(finished, tmp_path / "out"))
    rows = out / ".mne_otica" / "rows"
    content = json.loads((rows / "one.json").read_text())
    content["row"]["recording"] = "../elsewhere"
    (rows / "odd.json").write_text(json.dumps(content))
    assert [item.label for item in Review(out, "Ann").items if ".." in item.label] == []


# %% In a browser


@pytest.fixture(scope="module")
def driver():
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser, chromedriver = (
        next(filter(None, map(shutil.which, names)), None)
        for names in (("chromium", "chromium-browser", "google-chrome"), ("chromedriver",))
    )
    if browser is None or chromedriver is None:
        pytest.skip("there is no Chromium with its driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", SIZE):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    yield driver
    driver.quit()


class Page:
    """The page as a person with a keyboard has it."""

    def __init__(self, driver, address):
        self.driver = driver
        driver.get("about:blank")
        driver.get(address)
        self.settle()

    def settle(self):
        """Wait until nothing is under way."""
        from selenium.webdriver.support.ui import WebDriverWait

        script = (
            "return document.body.dataset.running === '0' && "
            "!document.querySelector('[aria-busy=true]')"
        )
        WebDriverWait(self.driver, LONG).until(lambda driver: driver.execute_script(script))

    def press(self, *keys):
        from selenium.webdriver import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()
            self.settle()
        return self

    def text(self, name):
        return self.driver.find_element("id", name).text

    def shown(self, name):
        return self.driver.find_element("id", name).is_displayed()

    def messages(self):
        """Return what the browser complains of."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


def soon(holds):
    """Return whether something comes true before long."""
    end = time.monotonic() + LONG
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()


def test_page_from_the_keyboard(driver, out):
    from selenium.webdriver import Keys

    with serving(Review(out, "Ann")) as server:
        page = Page(driver, server.address)
        assert page.text("label") == "empty"
        assert not page.shown("components")
        page.press("?")
        assert "flip" in page.text("help")
        page.press(Keys.ESCAPE, "k", "j")  # there is none before the first
        label = page.text("label")
        assert label in ("one", "two")
        (removed,) = bad_components(read_table(table_of(out, label), 10))
        assert page.text("component-name") == f"ICA{removed:03d}: removed"
        assert page.text("numbers").startswith(f"Removed\nICA{removed:03d}")
        # A key removes a component, and what that does is seen.
        harm = page.text("harm")
        page.press(Keys.ARROW_RIGHT, "f")
        other = (removed + 1) % 10
        assert page.text("component-name") == f"ICA{other:03d}: removed"
        assert page.text("state").startswith("Saved")
        assert page.text("harm") != harm
        assert harm in page.text("harm"), "the last run's stands beside it"
        assert bad_components(read_table(table_of(out, label), 10)) == sorted([removed, other])
        # Notes and marks
        page.press("n", "odd", Keys.ENTER, "N", "ask Bob", Keys.ENTER, "l")
        assert page.text("component-note") == "Note: odd"
        assert page.text("recording-note") == "Note: ask Bob"
        assert cells(table_of(out, label).read_text(encoding="utf-8"))[other]["note"] == "odd"
        assert "ask Bob" in (out / "review.tsv").read_text(encoding="utf-8")
        # Another channel, another time
        channel, title = page.text("traces-title").split()[0], page.text("traces-title")
        page.press("c")
        assert page.text("traces-title").split()[0] != channel
        page.press("C", "," if page.driver.find_element("id", "earlier").is_enabled() else ".")
        assert page.text("traces-title") != title
        # Leaving the page loses nothing, not even a note that is being written, or the place.
        page.press("n", " indeed")
        driver.refresh()
        page.settle()
        assert soon(lambda: "odd indeed" in table_of(out, label).read_text(encoding="utf-8"))
        assert page.text("label") == label
        assert "later" in page.text("recordings")
        assert page.text("component-name") == f"ICA{min(removed, other):03d}: removed"
        assert page.messages() == []
        driver.get("about:blank")


def test_page_shows_what_someone_else_decided(driver, out):
    from selenium.webdriver import Keys

    with serving(Review(out, "Ann")) as server:
        page = Page(driver, f"{server.address}#{number(server.review, 'two')}")
        flip(Review(out, "Bob"), "two", 5, "bad", "mine")
        page.press("f")
        assert (
            page.text("conflict-changes") == "ICA005 is now removed and has the note “mine” (Bob)"
        )
        rows = cells(table_of(out, "two").read_text(encoding="utf-8"))
        assert [row["who"] for row in rows.values()].count("Ann") == 0
        page.press(Keys.ENTER)
        before = page.text("component-name")
        page.press("f")
        assert page.text("component-name") != before
        assert page.text("state").startswith("Saved")
        assert len(page.messages()) == 1, "the refusal"
        driver.get("about:blank")


@pytest.mark.parametrize("width", [1280, 400])
def test_page_fits_the_screen(driver, out, width):
    with serving(Review(out, "Ann")) as server:
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        page = Page(driver, f"{server.address}#1")
        assert page.shown("before-after")
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        driver.get("about:blank")


@contextmanager
def started(out):
    """Start the command in a process of its own; yield the process and the address."""
    command = [sys.executable, "-m", "mne_otica", "review", str(out), "--no-browser"]
    command += ["--name", "Ann"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
def test_study_of_twelve_from_first_key_to_last(driver, tmp_path):
    """Six decisions are flipped, the server is killed in between, and a run applies the six."""
    from selenium.webdriver import Keys

    mne_bids = pytest.importorskip("mne_bids")
    troubles = {3: {"noisy_channels": 2, "movements": 6}, 7: {"pops": 6, "n_blinks": 2}}
    for k in range(12):
        raw = simulated(k, **({"n_blinks": 8} | troubles.get(k, {})))
        raw.info["line_freq"] = 50
        path = mne_bids.BIDSPath(subject=f"{k:02d}", task="rest", datatype="eeg", root=tmp_path)
        mne_bids.write_raw_bids(
            raw, path, format="BrainVision", allow_preload=True, verbose="error"
        )
    (tmp_path / "sub-05" / "eeg" / "sub-05_task-rest_eeg.eeg").write_bytes(b"")
    out = clean_study(bids_root=tmp_path, verbose="error").out
    cleaned = written(out)
    assert len(cleaned) == 11
    flipped = []

    def look(page, step):
        """Flip the third component of every other recording, as long as six are not flipped."""
        label = page.text("label")
        if page.shown("components") and step % 2 and len(flipped) < 6:
            page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, "f")
            assert page.text("state").startswith("Saved")
            flipped.append(label)

    with started(out) as (process, address):
        page = Page(driver, address)
        assert page.text("label") == "sub-05_task-rest"
        for step in range(7):
            look(page, step)
            page.press("j")
        assert len(flipped) == 3
        process.kill()
        process.wait()
        page.press(Keys.ARROW_RIGHT, "f")
        assert "Not saved" in page.text("state")
    with started(out) as (_, address):
        page = Page(driver, f"{address}#7")
        for step in range(7, 12):
            look(page, step)
            page.press("j")
        assert page.text("position") == "12 of 12"
        assert page.text("recordings").count("changed") == len(flipped) == 6
        driver.get("about:blank")
    assert main(["run", "--bids-root", str(tmp_path)]) == 1, "as one recording failed before, too"
    assert anew(cleaned, out) == sorted(flipped)

"""Downloads, from a server on this machine: they succeed, or leave nothing behind."""

import io
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from tests.datasets.test_dataset_sources import raw_anuran, raw_avila, raw_mice
from tests.helpers.datasets import stored
from tests.helpers.web_server import FILES, TOY, TOY_SIZE, Web, toy_digest, toy_source
from treemeans import progress
from treemeans.datasets import TABLE, load
from treemeans.datasets.sources import SOURCES

NAME = "toy%20table.csv"
HALF = len(TOY) // 2


@pytest.fixture(autouse=True)
def _local(monkeypatch, tmp_path):
    """Nothing goes out to the web; a try that failed is made again at once."""
    for variable in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TREEMEANS_DATA", raising=False)


@pytest.fixture
def toy(monkeypatch):
    """``load("toy")``; call it with options of the source."""

    def add(*addresses, **options):
        monkeypatch.setitem(TABLE, "toy", TOY_SIZE)
        monkeypatch.setitem(SOURCES, "toy", toy_source(*addresses, **options))

    add()
    return add


def files_in(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def check_toy(data):
    assert data.X[:4].tolist() == [[1.5, 2], [3, 4], [5, 6.25], [7, 8]]
    assert data.X.shape == TOY_SIZE[1:]
    assert data.y[:4].tolist() == [0, 1, 0, 1]
    assert data.target_names == ("a", "b")


# ---- it works ------------------------------------------------------------------------------------


def test_a_set_is_downloaded_once(toy, tmp_path):
    with Web(FILES) as web:
        check_toy(load("toy", mirror=web.address))
        assert files_in(tmp_path / "cache") == ["toy.npz"]
        check_toy(load("toy", mirror=web.address + "/"))
        assert web.asked == [(NAME, None)]
    check_toy(load("toy", download=False))
    check_toy(load("toy"))  # the server has gone


def test_a_folder_is_where_a_set_is_put(toy, tmp_path, monkeypatch):
    with Web(FILES) as web:
        for folder in (tmp_path / "given", tmp_path / "set"):
            folder.mkdir()
        load("toy", mirror=web.address, folder=tmp_path / "given")
        monkeypatch.setenv("TREEMEANS_DATA", str(tmp_path / "set"))
        load("toy", mirror=web.address)
        assert len(web.asked) == 2
    assert files_in(tmp_path) == ["toy.npz", "toy.npz"]


@pytest.mark.parametrize(
    ("name", "raw"), [("mice_protein", raw_mice), ("anuran", raw_anuran), ("avila", raw_avila)]
)
def test_real_sets(name, raw, tmp_path):
    published = SOURCES[name].raw.name
    data = stored(name)
    with Web({published.replace("+", "%2B"): raw().getvalue()}) as web:
        for _ in range(2):
            again = load(name, folder=tmp_path, mirror=web.address)
            np.testing.assert_array_equal(again.X, data.X)
            np.testing.assert_array_equal(again.y, data.y)
            assert again.feature_names == data.feature_names
            assert again.target_names == data.target_names
        assert len(web.asked) == 1


def test_a_server_that_does_not_say_how_much_there_is(toy):
    with Web(FILES, ("no length",)) as web:
        check_toy(load("toy", mirror=web.address))


def test_the_permissions_are_the_usual_ones(toy, tmp_path):
    with Web(FILES) as web:
        load("toy", folder=tmp_path, mirror=web.address)
    (tmp_path / "plain").touch()
    assert (tmp_path / "toy.npz").stat().st_mode == (tmp_path / "plain").stat().st_mode


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("fault", ["none", "no length"])
def test_progress_is_shown_on_a_terminal(toy, monkeypatch, fault):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_REFRESH", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Web(FILES, (fault,)) as web:
        load("toy", mirror=web.address)
    shown = sys.stderr.getvalue().split("\r")
    assert shown[1].startswith("downloading toy table.csv [###########-------")
    assert shown[-1].rstrip() == f"downloading toy table.csv [{'#' * 30}] 100 % of 0.2 MB"


# ---- connections that break ----------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
def test_a_download_that_broke_off_is_tried_again(toy, tmp_path, known):
    toy(known=known)
    with Web(FILES, ("cut", HALF), ("status", 503)) as web:
        check_toy(load("toy", folder=tmp_path, mirror=web.address))
        assert len(web.asked) == 3
    with Web(FILES, *[("cut", HALF)] * 3) as web:
        (tmp_path / "toy.npz").unlink()
        problem = rf"toy could not be downloaded: .*{HALF} bytes read, {len(TOY) - HALF} more"
        refused(tmp_path, ConnectionError, problem, mirror=web.address)
        assert len(web.asked) == 3


def test_the_next_address_is_tried(toy):
    with Web(FILES, ("status", 403)) as web:
        toy(f"{web.address}/gone", f"{web.address}/{NAME}")
        check_toy(load("toy"))
        assert [name for name, _ in web.asked] == ["gone"] * 3 + [NAME]


# ---- it does not work, and leaves nothing --------------------------------------------------------


def refused(folder, kind, problem, **options):
    with pytest.raises(kind, match=problem) as caught:
        load("toy", folder=folder, **options)
    assert "\n" not in str(caught.value)
    assert list(folder.iterdir()) == []


def test_no_such_file(toy, tmp_path):
    with Web({}) as web:
        problem = r"toy could not be downloaded: check the network, or set folder= .*answered 404"
        refused(tmp_path, ConnectionError, problem, mirror=web.address)


@pytest.mark.parametrize("status", [500, 503])
def test_a_server_that_is_busy_for_good(toy, tmp_path, status):
    with Web(FILES, *[("status", status)] * 3) as web:
        refused(tmp_path, ConnectionError, f"answered {status}", mirror=web.address)
        assert len(web.asked) == 3


@pytest.mark.parametrize("known", [True, False])
def test_an_answer_without_content(toy, tmp_path, known):
    # 202 with nothing in it is how some hosts turn away what is no browser.
    toy(known=known)
    problem = "toy table.csv.* SHA-256 is not" if known else "the table is empty"
    with Web(FILES, *[("status", 202)] * 3) as web:
        refused(tmp_path, ValueError, problem, mirror=web.address)


def test_no_network(toy, tmp_path):
    with Web({}) as web:
        pass
    refused(tmp_path, ConnectionError, "check the network.*refused", mirror=web.address)
    toy("http://nowhere.invalid/toy.csv")
    refused(tmp_path, ConnectionError, r"toy\.npz \(http://nowhere\.invalid")


@pytest.mark.parametrize("mirror", ["file:///etc", "/etc", "ftp://host", "", 3])
def test_a_mirror_is_on_the_web(toy, tmp_path, mirror):
    refused(tmp_path, ValueError, "mirror must be an address that begins with http", mirror=mirror)


def test_a_wrong_checksum(toy, tmp_path):
    wrong = {NAME: TOY.replace("6.25", "6.26").encode()}
    with Web(wrong) as web:
        refused(tmp_path, ValueError, "toy table.csv from .* SHA-256", mirror=web.address)
        toy(known=False)
        problem = f"toy, as downloaded, is not the right table: .*, not {toy_digest()}"
        refused(tmp_path, ValueError, problem, mirror=web.address)


def test_a_table_that_differs_though_the_raw_file_is_right(toy, tmp_path):
    toy(digest="0" * 64)
    with Web(FILES) as web:
        with pytest.warns(UserWarning, match="toy differs from the table that published") as caught:
            check_toy(load("toy", folder=tmp_path, mirror=web.address))
        assert caught[0].filename == __file__
    check_toy(load("toy", folder=tmp_path))  # the file has its own sum


def test_a_file_of_another_form(toy, tmp_path):
    toy(known=False)
    for body, problem in [
        (b"<html>please sign in</html>", "row 1 has 1 cells, not 3"),
        (
            TOY[: -2 * len("9,10,b\n")].encode(),
            "toy must have 25004 rows and 2 columns; got 25002 and 2",
        ),
        (b"1,2,\xff\n", "can't decode"),
        (b'1,"2,a\n', "unexpected end of data"),
        (b"", "toy table.csv, as downloaded, is not the file it should be: the table is empty"),
    ]:
        with Web({NAME: body}) as web:
            refused(tmp_path, ValueError, problem, mirror=web.address)


def test_a_file_without_end(toy, tmp_path):
    with Web({NAME: TOY.encode() * 11}) as web:
        refused(tmp_path, ConnectionError, "something far larger", mirror=web.address)


def test_a_folder_that_cannot_be_written_to(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "below"))
    (tmp_path / "file").touch()
    with Web(FILES) as web:
        with pytest.raises(
            OSError, match=r"cannot write to .*: pass folder= or set TREEMEANS_DATA"
        ):
            load("toy", mirror=web.address)
        assert web.asked == []


def test_a_full_disk(toy, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with Web(FILES) as web:
        refused(tmp_path, OSError, "No space left on device", mirror=web.address)


def test_files_of_others_in_the_folder_stay(toy, tmp_path):
    old = [tmp_path / name for name in (".toy-0123.part", "tmp1234", ".treemeans-5678.tmp")]
    for path in old:
        path.touch()
        os.utime(path, (0, 0))
    with Web(FILES) as web:
        load("toy", folder=tmp_path, mirror=web.address)
    assert files_in(tmp_path) == sorted(["toy.npz", *(path.name for path in old)])
    assert all(path.is_file() for path in tmp_path.iterdir())


# ---- several processes ---------------------------------------------------------------------------

SCRIPT = """
import sys
from tests.helpers.web_server import add_toy
from treemeans.datasets import load
add_toy()
print(load("toy", folder=sys.argv[1], mirror=sys.argv[2]).X.sum())
"""


def start(folder, web):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder), web.address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_several_processes_at_once_and_ctrl_c(toy, tmp_path):
    """Each writes to a file of its own; one is interrupted, and the others do not notice."""

    def arriving():
        return len([path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size])

    with Web(FILES, *[("wait",)] * 3) as web, ThreadPoolExecutor(1) as here:
        stopped, other = start(tmp_path, web), start(tmp_path, web)
        wait_for(lambda: arriving() == 2)
        mine = here.submit(load, "toy", folder=tmp_path, mirror=web.address)
        wait_for(lambda: arriving() == 3)
        stopped.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in stopped.communicate(timeout=60)[1]
        assert len(files_in(tmp_path)) == 2
        web.go.set()
        answer, errors = other.communicate(timeout=60)
        assert (answer, errors) == ("475036.75\n", "")
        check_toy(mine.result(60))
        check_toy(load("toy", folder=tmp_path, mirror=web.address))
        assert len(web.asked) == 3
    assert files_in(tmp_path) == ["toy.npz"]


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)

"""Files are written whole or not at all."""

import os
import stat
import sys
from pathlib import Path

import pytest

from treemeans.atomic_write import write_whole

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")


@pytest.mark.parametrize("as_path", [str, Path])
@pytest.mark.parametrize(
    ("content", "data"),
    [("a\r\nb\n\U0001f333", b"a\r\nb\n\xf0\x9f\x8c\xb3"), (b"\x00\xff", b"\x00\xff"), ("", b"")],
    ids=["text", "bytes", "empty"],
)
def test_content(tmp_path, as_path, content, data):
    path = tmp_path / "x"
    write_whole(as_path(path), content)
    assert path.read_bytes() == data
    assert os.listdir(tmp_path) == ["x"]


def test_another_file_is_replaced_and_keeps_its_mode(tmp_path):
    path = tmp_path / "x"
    path.write_text("old")
    path.chmod(0o640)
    write_whole(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@linux
def test_a_new_file_has_the_mode_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_text("")
    write_whole(tmp_path / "x", "")
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_whatever_goes_wrong_the_old_file_stays_and_nothing_else(
    tmp_path, monkeypatch, step, error
):
    path = tmp_path / "x"
    path.write_text("old")

    def fail(*args):
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x"]


@linux
def test_no_file_stays_open(tmp_path):
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        write_whole(tmp_path / "x", "text")
    assert len(os.listdir("/proc/self/fd")) == len(before)


@linux
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "x", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


@linux
def test_a_device_stays_a_device():
    write_whole("/dev/null", "gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@linux
def test_a_pipe_is_written_to(tmp_path):
    reader, writer = os.pipe()
    write_whole(f"/proc/self/fd/{writer}", "through")
    os.close(writer)
    with os.fdopen(reader) as file:
        assert file.read() == "through"


def test_one_sentence_names_the_file(tmp_path):
    for path in (tmp_path / "missing" / "x", tmp_path):
        with pytest.raises(OSError, match=r"^Cannot write '.*': [A-Z].*\.$") as caught:
            write_whole(path, "")
        assert repr(str(path)) in str(caught.value)


def test_names_may_be_as_long_as_they_get(tmp_path):
    path = tmp_path / ("x" * 255)
    write_whole(path, "long")
    assert path.read_text() == "long"

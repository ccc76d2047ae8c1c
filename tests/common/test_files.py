"""Files are written completely or not at all; pipes and devices stay what they are."""

from __future__ import annotations

import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from netbenefit import InputError
from netbenefit.cli.terminal import check_writable
from netbenefit.common import replacing, write_text

posix = pytest.mark.skipif(os.name != "posix", reason="modes and pipes of POSIX")


def read_in_background(path: Path, found: list[str]) -> threading.Thread:
    reader = threading.Thread(target=lambda: found.append(path.read_text(encoding="utf-8")))
    reader.daemon = True
    reader.start()
    return reader


@posix
def test_a_pipe_gets_the_bytes_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe, found = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = read_in_background(pipe, found)
    write_text(pipe, "größe ≤ 3")
    reader.join(60)
    assert found == ["größe ≤ 3"]
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


@posix
def test_a_device_stays_a_device(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        device.write_text("")
    except OSError:
        pytest.skip("devices cannot be made here")
    write_text(device, "text")
    assert stat.S_ISCHR(os.stat(device).st_mode)
    check_writable([], device)


@posix
def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        with pytest.raises(InputError, match="is not a file that can be written"):
            write_text(place, "text")
        assert stat.S_ISSOCK(os.stat(place).st_mode)
    with pytest.raises(InputError, match="is a folder"):
        write_text(tmp_path, "text")
    kept = tmp_path / "kept"
    kept.write_text("old", encoding="utf-8")
    kept.chmod(0o444)
    if not os.access(kept, os.W_OK):  # nothing is protected from root
        with pytest.raises(InputError, match="write-protected"):
            write_text(kept, "new")
        assert kept.read_text(encoding="utf-8") == "old"


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_the_mode_of_a_file_is_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "card.json"
    path.write_text("old", encoding="utf-8")
    path.chmod(mode)
    with replacing(path) as draft:
        assert stat.S_IMODE(draft.stat().st_mode) & 0o077 == 0
        draft.write_text("new", encoding="utf-8")
    assert (path.read_text(encoding="utf-8"), stat.S_IMODE(path.stat().st_mode)) == ("new", mode)


@posix
def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "link", tmp_path / "there" / "card.json"
    link.symlink_to(target)
    for text in ("first", "second"):  # at first it points to nothing
        write_text(link, text)
        assert link.is_symlink()
        assert target.read_text(encoding="utf-8") == text
    assert list(target.parent.iterdir()) == [target]


def test_what_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    write_text(path, "old")

    def fail() -> None:
        with replacing(path) as draft:
            draft.write_text("half", encoding="utf-8")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]

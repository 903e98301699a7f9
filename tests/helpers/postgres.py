"""A PostgreSQL server of our own, in a folder that goes away with it."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

# Where Debian and others put the programs of a server, newest last.
_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin")


def programs():
    """The folder with initdb and pg_ctl; None where no server is installed."""
    found = [path.parent for folder in _FOLDERS for path in Path("/").glob(f"{folder[1:]}/initdb")]
    if found:
        return max(
            found, key=lambda path: [int(n) for n in path.parts[-2].split(".") if n.isdigit()]
        )
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


def missing(what):
    """Skip; but where everything must be tested (CI is set), fail."""
    if os.environ.get("TREEMEANS_NO_SKIP"):
        pytest.fail(f"{what} is missing, and CI is set: install it.")
    pytest.skip(f"{what} is not installed")


@contextlib.contextmanager
def server():
    """Settings to connect to a server that runs while the context does."""
    bin_folder = programs()
    if bin_folder is None:
        missing("A PostgreSQL server")
    # Not pytest's tmp_path: another user must be able to enter, and sockets need a short path.
    with tempfile.TemporaryDirectory(prefix="tm-pg-") as folder:
        as_user = _not_root(folder)
        data = Path(folder) / "data"

        def run(program, *arguments):
            done = subprocess.run(
                [bin_folder / program, "-D", data, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=120,
                cwd=folder,
                **as_user,
            )
            assert done.returncode == 0, done.stdout

        run("initdb", "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        options = f"-k {folder} -c listen_addresses= -c fsync=off -c shared_buffers=16MB"
        run("pg_ctl", "-l", f"{folder}/log", "-o", options, "-w", "start")
        try:
            yield {"host": folder, "user": "tester", "dbname": "postgres"}
        finally:
            run("pg_ctl", "-m", "immediate", "-w", "stop")


def _not_root(folder):
    """Who runs the server: it refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            os.chown(folder, user.pw_uid, user.pw_gid)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    return missing("A user other than root to run PostgreSQL")

"""A MariaDB server of our own, in a folder that goes away with it."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from tests.helpers.postgres import missing


def _program(*names):
    """The path of a program; Debian puts servers where only root looks."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
    found = next((found for name in names if (found := shutil.which(name, path=path))), None)
    return missing("A MariaDB server") if found is None else found


@contextlib.contextmanager
def server():
    """Settings to connect to a server that runs while the context does."""
    install, serve = _program("mariadb-install-db", "mysql_install_db"), _program("mariadbd")
    # Not pytest's tmp_path: sockets need a short path.
    with tempfile.TemporaryDirectory(prefix="tm-maria-") as folder:
        user = pwd.getpwuid(os.geteuid()).pw_name
        data, socket = Path(folder) / "data", f"{folder}/socket"
        made = subprocess.run(
            [
                install,
                "--no-defaults",
                f"--datadir={data}",
                f"--user={user}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert made.returncode == 0, made.stdout + made.stderr
        options = ["--skip-networking", "--innodb-flush-log-at-trx-commit=0", f"--user={user}"]
        with (Path(folder) / "log").open("w") as log:
            running = subprocess.Popen(
                [serve, "--no-defaults", f"--datadir={data}", f"--socket={socket}", *options],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            _wait(running, socket, Path(folder) / "log")
            yield {"unix_socket": socket, "user": "root"}
        finally:
            running.terminate()
            running.wait(60)


def _wait(running, socket, log):
    for _ in range(600):
        assert running.poll() is None, log.read_text()
        if Path(socket).exists():
            return
        time.sleep(0.1)
    raise AssertionError(log.read_text())

"""Firefox for tests, by WebDriver BiDi: Debian's Firefox comes without a driver."""

import json
import re
import shutil
import subprocess
import tempfile
from contextlib import contextmanager

from tests.helpers.browser import missing

PREFERENCES = """
user_pref("app.update.disabledForTesting", true);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("toolkit.telemetry.enabled", false);
"""


class Firefox:
    """A tab of Firefox: opens pages, runs scripts, keeps what the pages complain of."""

    def __init__(self, connection):
        self.connection, self.n_sent, self.complaints = connection, 0, []
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=["log.entryAdded"])
        self.tab = self.send("browsingContext.getTree")["contexts"][0]["context"]

    def send(self, method, **parameters):
        """Call a command of the protocol; its result."""
        self.n_sent += 1
        self.connection.send(
            json.dumps({"id": self.n_sent, "method": method, "params": parameters})
        )
        while True:
            message = json.loads(self.connection.recv())
            if message.get("method") == "log.entryAdded":
                entry = message["params"]
                if entry["level"] in ("warn", "error"):
                    self.complaints.append(entry["text"])
            if message.get("id") == self.n_sent:
                assert message["type"] == "success", message
                return message["result"]

    def get(self, address):
        self.send("browsingContext.navigate", context=self.tab, url=address, wait="complete")

    def run(self, body):
        """What the body of a function returns in the page."""
        answer = self.send(
            "script.evaluate",
            expression=f"JSON.stringify((() => {{ {body} }})() ?? null)",
            target={"context": self.tab},
            awaitPromise=False,
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"]["value"])


@contextmanager
def open_firefox():
    """A tab of Firefox; without Firefox the tests are skipped, but not where CI is set."""
    firefox = shutil.which("firefox-esr") or shutil.which("firefox")
    if firefox is None:
        missing("Firefox")
    try:
        import websocket
    except ModuleNotFoundError:
        missing("websocket-client")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        with open(f"{profile}/user.js", "w", encoding="utf-8") as file:
            file.write(PREFERENCES)
        command = [firefox, "--headless", "--no-remote", "--remote-debugging-port=0"]
        process = subprocess.Popen(
            [*command, "--profile", profile], stderr=subprocess.PIPE, text=True
        )
        try:
            found = None
            while found is None:
                line = process.stderr.readline()
                assert line, "Firefox has ended"
                found = re.search(r"WebDriver BiDi listening on (ws://\S+)", line)
            connection = websocket.create_connection(
                f"{found.group(1)}/session", timeout=120, suppress_origin=True
            )
            yield Firefox(connection)
            connection.close()
        finally:
            process.terminate()
            process.wait(60)
            process.stderr.close()

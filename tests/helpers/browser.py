"""A browser for tests: Chromium without a screen and without a network."""

import os
import shutil
import tempfile
from contextlib import contextmanager

import pytest

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@contextmanager
def open_browser():
    """A driver of Chromium; without Chromium the tests are skipped, but not where CI is set."""
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        missing("chromium and chromedriver")
    try:
        from selenium import webdriver
    except ModuleNotFoundError:
        missing("selenium")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(
            options=options, service=webdriver.ChromeService(executable_path=chromedriver)
        )
        try:
            yield driver
        finally:
            driver.quit()


def missing(what):
    sentence = f"The tests in a browser need {what}."
    if os.environ.get("TREEMEANS_NO_SKIP"):
        pytest.fail(sentence)
    pytest.skip(sentence)

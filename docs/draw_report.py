"""Draw docs/report.png, the picture of a report, or pictures of every state of a report.

python docs/draw_report.py                    # docs/report.png; needs chromium and selenium
python docs/draw_report.py --states FOLDER    # a picture of each state, to look at
python docs/draw_report.py --keep report.html # leave the report itself there
"""

from __future__ import annotations

import argparse
import base64
import io
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treemeans import ExKMC

DOCS = Path(__file__).parent
WIDTH, HEIGHT = 1600, 1200
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars")
STATES = {  # name of a picture -> what a person does first, as JavaScript
    "start": "",
    "group": "document.querySelector('#group-list [data-group=\"2\"]').click()",
    "split": "document.querySelector('#tree .split').focus()",
    "row": "document.querySelector('#tab-row').click()",
    "sql": "document.querySelector('#tab-sql').click()",
    "sorted": "document.querySelectorAll('#profiles thead button')[2].click()",
    "zoomed": "for (let i = 0; i < 3; i++) document.querySelector('#zoom-in').click()",
    "fitted": "document.querySelector('#zoom-fit').click()",
    "dark": "document.documentElement.dataset.theme = 'dark'",
}


def main() -> None:
    """Fit a model, write its report and take the pictures."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--keep", type=Path, help="where to leave the report itself")
    arguments.add_argument("--states", type=Path, help="folder for pictures of every state")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder, browser() as driver:
        path = options.keep or Path(folder, "report.html")
        report_on_customers(path)
        if options.states is None:
            choose = STATES["group"]
            picture = picture_of(driver, path.resolve(), choose, WIDTH, HEIGHT)
            (DOCS / "report.png").write_bytes(small(picture))
            return
        options.states.mkdir(parents=True, exist_ok=True)
        many = Path(folder, "many.html")
        report_on_many_groups(many)
        for name, page in (("customers", path.resolve()), ("many", many)):
            for state, script in STATES.items():
                picture = picture_of(driver, page, script, WIDTH, None)
                (options.states / f"{name}-{state}.png").write_bytes(picture)
            picture = picture_of(driver, page, STATES["row"], 390, None)
            (options.states / f"{name}-narrow.png").write_bytes(picture)
            (options.states / f"{name}-printed.pdf").write_bytes(printed(driver, page))


def report_on_customers(path: Path) -> None:
    """Write a report on four groups of the customers in docs/data."""
    dates = ["first_order", "last_order"]
    X = pd.read_csv(DOCS / "data" / "cdnow.csv", parse_dates=dates, index_col="customer_id")
    reference = make_pipeline(StandardScaler(), KMeans(4, n_init=10, random_state=0))
    model = ExKMC(
        4, reference=reference, max_leaf_nodes=12, round_thresholds=True, random_state=0
    ).fit(X)
    model = model.with_columns(units={"dollars": "USD"}).with_leaves(6)
    model.report(path, X, title="Customers of a music shop")


def report_on_many_groups(path: Path) -> None:
    """Write a report on twelve groups and a deep tree."""
    X, _ = make_blobs(3000, 6, centers=12, cluster_std=2.0, random_state=0)
    names = ["a column with a very long name indeed", *(f"measure {i}" for i in range(1, 6))]
    model = ExKMC(12, max_leaf_nodes=60, round_thresholds=True, random_state=0)
    frame = pd.DataFrame(X, columns=names)
    model.fit(frame).report(path, frame, title="Twelve groups")


@contextmanager
def browser() -> Iterator[Any]:
    """A driver of Chromium."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in FLAGS:
        options.add_argument(flag)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield driver
    finally:
        driver.quit()


def picture_of(driver: Any, path: Path, script: str, width: int, height: int | None) -> bytes:
    """The page after a script, as PNG: its top, or without a height all of it."""
    still = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": still})
    _resize(driver, width, height or HEIGHT)
    driver.get(path.as_uri())
    driver.execute_script(script)
    if height is None:
        shown = driver.execute_script("return document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": width, "height": shown, "scale": 1}
        options = {"format": "png", "captureBeyondViewport": True, "clip": clip}
    else:
        options = {"format": "png"}
    return base64.b64decode(driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"])


def printed(driver: Any, path: Path) -> bytes:
    """The page on paper, as PDF."""
    driver.get(path.as_uri())
    paper = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": True}
    return base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", paper)["data"])


def _resize(driver: Any, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def small(picture: bytes) -> bytes:
    """The picture in fewer colours, which is a third of the size and looks the same."""
    from PIL import Image

    image = Image.open(io.BytesIO(picture)).convert("RGB")
    out = io.BytesIO()
    few = image.quantize(96, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(out, "png", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    main()

"""Draw docs/report.png, the picture of a report in the README, with a browser.

    python docs/draw_report.py            # needs chromium and selenium

The report itself stays in a temporary folder; `--keep report.html` keeps it.
"""

from __future__ import annotations

import argparse
import base64
import io
import shutil
import tempfile
from pathlib import Path

import pandas as pd
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treemeans import ExKMC, write_report

DOCS = Path(__file__).parent
WIDTH, HEIGHT = 1600, 1200
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars")


def main() -> None:
    """Fit a model, write its report and take the picture."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--keep", type=Path, help="where to leave the report itself")
    keep = arguments.parse_args().keep
    with tempfile.TemporaryDirectory() as folder:
        path = keep or Path(folder, "report.html")
        report_on_customers(path)
        (DOCS / "report.png").write_bytes(small(picture_of(path.resolve())))


def report_on_customers(path: Path) -> None:
    """Write a report on four groups of the customers in docs/data."""
    dates = ["first_order", "last_order"]
    X = pd.read_csv(DOCS / "data" / "cdnow.csv", parse_dates=dates, index_col="customer_id")
    reference = make_pipeline(StandardScaler(), KMeans(4, n_init=10, random_state=0))
    model = ExKMC(
        4, reference=reference, max_leaf_nodes=12, round_thresholds=True, random_state=0
    ).fit(X)
    model = model.with_columns(units={"dollars": "USD"}).with_leaves(6)
    write_report(model, path, X, title="Customers of a music shop", force=True)


def picture_of(path: Path) -> bytes:
    """The top of the page with one group chosen, as PNG."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in FLAGS:
        options.add_argument(flag)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        still = [{"name": "prefers-reduced-motion", "value": "reduce"}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": still})
        driver.get(path.as_uri())
        driver.find_element("css selector", "[data-group='2']").click()
        shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        return base64.b64decode(shot["data"])
    finally:
        driver.quit()


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

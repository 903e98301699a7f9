"""Periods of pandas: refused with what to do."""

import numpy as np
import pytest

from treemeans import ExKMC

pd = pytest.importorskip("pandas")


def test_periods_are_refused_with_a_way_out():
    df = pd.DataFrame({"plan": ["a", "b"] * 20, "month": pd.period_range("2020-01", periods=40)})
    with pytest.raises(ValueError, match=r"df\['month'\]\.dt\.to_timestamp\(\)"):
        ExKMC(2).fit(df)
    df["month"] = df["month"].dt.to_timestamp()
    model = ExKMC(2, random_state=0).fit(df)
    np.testing.assert_array_equal(model.predict(df), model.labels_)

"""The space of the reference in a model file: scalers and preparations come back as numbers."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from treemeans import ExKMC, load
from treemeans.model_file.save_load import ModelFileError

IRIS = load_iris().data


def saved_again(model, tmp_path):
    model.save(tmp_path / "model.json")
    return load(tmp_path / "model.json")


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        RobustScaler(),
        RobustScaler(with_centering=False),
        MaxAbsScaler(),
        MinMaxScaler((-1, 2)),
    ],
)
def test_distances_after_a_scaler(scaler, tmp_path):
    reference = make_pipeline(scaler, KMeans(3, n_init=1, random_state=0))
    model = ExKMC(3, reference=reference).fit(IRIS)
    again = saved_again(model, tmp_path)
    np.testing.assert_allclose(again.transform(IRIS), model.transform(IRIS), atol=1e-3)
    assert again.score(IRIS) == pytest.approx(model.score(IRIS), rel=1e-3)


@pytest.mark.parametrize(
    "pipeline", [(QuantileTransformer(n_quantiles=10),), (MinMaxScaler(clip=True),)]
)
def test_other_pipelines_are_not_in_the_file(pipeline, tmp_path):
    reference = make_pipeline(*pipeline, KMeans(3, n_init=1, random_state=0))
    again = saved_again(ExKMC(3, reference=reference).fit(IRIS), tmp_path)
    with pytest.raises(ValueError, match="does not hold the reference's pipeline"):
        again.transform(IRIS)


def test_a_sparse_table_stays_sparse(tmp_path):
    X = sparse.random(100, 10, 0.3, "csr", random_state=0)
    reference = make_pipeline(MaxAbsScaler(), KMeans(3, n_init=1, random_state=0))
    model = ExKMC(3, reference=reference).fit(X)
    again = saved_again(model, tmp_path)
    np.testing.assert_allclose(again.transform(X), model.transform(X), atol=1e-9)
    shifted = make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0))
    again = saved_again(ExKMC(3, reference=shifted).fit(X.toarray()), tmp_path)
    with pytest.raises(ValueError, match="pass a dense array"):
        again.transform(X)


def mixed(n=400):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "spend": rng.lognormal(3, 1, n),
            "debt": -rng.lognormal(3, 2, n),
            "kind": rng.choice(list("abc"), n),
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
        }
    )
    frame.loc[::9, "spend"] = np.nan
    return frame


@pytest.mark.parametrize("scale", ["auto", "robust", "none"])
def test_distances_in_a_mixed_table(scale, tmp_path):
    frame = mixed()
    model = ExKMC(3, scale=scale, random_state=0).fit(frame)
    again = saved_again(model, tmp_path)
    views = {view.how for view in model.preparation_.views}
    tolerance = 0.05 if "rank" in views else 1e-3  # medians are rounded in a file
    np.testing.assert_allclose(again.transform(frame), model.transform(frame), atol=tolerance)
    assert str(again.preparation_) == str(model.preparation_)


def test_ranks_in_a_file_tell_of_no_extreme_value(tmp_path):
    frame = mixed()
    model = ExKMC(3, scale="rank", random_state=0).fit(frame)
    model.save(tmp_path / "model.json")
    views = json.loads((tmp_path / "model.json").read_text())["reference"]["space"]
    knots = np.array(views[1]["knots"])
    assert len(knots) == 80  # one for every five rows
    assert knots.min() > frame["debt"].min()
    assert knots.max() < frame["debt"].max()
    again = load(tmp_path / "model.json")
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"scale": 0.0}, "not positive"),
        ({"how": "magic"}, "unknown"),
        ({"how": "rank", "knots": [2.0, 1.0]}, "ascend"),
        ({"how": "one-hot", "levels": []}, "no coordinate"),
        ({"has_missing": True}, "as many coordinates"),
        ({"other": 1}, "unknown"),
    ],
)
def test_a_space_that_is_wrong_in_one_place(change, reason, tmp_path):
    reference = make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0))
    ExKMC(3, reference=reference).fit(IRIS).save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    document["reference"]["space"][0] |= change
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match=reason):
        load(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"edges": [3.0, 2.0], "counts": [1, 1, 1]}, "ascend"),
        ({"counts": []}, "at least one number"),
        ({"column": 9}, "from 0 to 3"),
        ({"range": [2.0, 1.0]}, "ascend"),
        ({"other": 1}, "unknown"),
    ],
)
def test_histograms_that_are_wrong_in_one_place(change, reason, tmp_path):
    ExKMC(3, random_state=0).fit(IRIS).save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    document["histograms"]["columns"][0] |= change
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match=reason):
        load(tmp_path / "model.json")


@pytest.mark.parametrize("scaler", [RobustScaler(), StandardScaler()], ids=["median", "mean"])
def test_medians_are_rounded_because_they_are_values_of_rows(scaler, tmp_path):
    X = np.random.default_rng(0).normal(size=(101, 2))
    reference = make_pipeline(scaler, KMeans(3, n_init=1, random_state=0))
    ExKMC(3, reference=reference).fit(X).save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    shift = [view["shift"] for view in document["reference"]["space"]]
    if isinstance(scaler, StandardScaler):
        assert shift == X.mean(axis=0).tolist()
    else:
        median, spread = np.median(X, axis=0), np.subtract(*np.percentile(X, [75, 25], axis=0))
        assert not np.isin(shift, X).any()
        assert (np.abs(shift - median) <= 1e-4 * spread).all()

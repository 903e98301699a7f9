"""Training histograms: counts that add up, no bin and no end of a range of fewer than five rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from treemeans import ExKMC, load
from treemeans.training_histograms import (
    FEW,
    MOST_COLUMNS,
    MOST_ROWS,
    TrainingHistograms,
    TrainingSample,
    count_sample,
    sample_rows,
)


def histogram(values, weights=None, categorical=False):
    sample = TrainingSample(np.asarray(values, dtype=float)[:, None], weights)
    return count_sample(sample, np.array([categorical]), [0], np.ones(1)).columns[0]


@pytest.mark.parametrize("seed", range(5))
def test_bins_hold_about_a_tenth_each_and_tell_of_no_single_row(seed):
    rng = np.random.default_rng(seed)
    values = rng.lognormal(size=1000)
    found = histogram(values)
    assert len(found.counts) == 10
    assert found.counts.sum() == 1000
    assert (np.abs(found.counts - 100) <= 3).all()
    np.testing.assert_array_equal(found.count(values), found.with_missing)
    assert not np.isin(np.append(found.edges, [found.low, found.high]), values).any()
    for end in (values < found.low, values > found.high):
        assert end.sum() < FEW
    assert found.outside == np.count_nonzero(found.is_outside(values))


def test_few_distinct_values_have_a_bin_each_and_rare_ones_share():
    found = histogram([0] * 50 + [1] * 30 + [2] * 2 + [3] * 20)
    assert found.counts.tolist() == [50, 30, 22]
    assert (found.low, found.high) == (0, 3)
    constant = histogram([7.0] * 20)
    assert constant.counts.tolist() == [20]
    assert constant.is_outside(np.array([7.0, 8.0])).tolist() == [False, True]


def test_missing_values_and_weights():
    found = histogram([np.nan] * 3 + [1.0] * 10 + [2.0] * 10, np.r_[np.ones(13), np.full(10, 2.0)])
    assert found.missing == 3
    assert found.counts.tolist() == [10, 20]
    assert histogram([np.nan] * 9).counts.tolist() == [0]


def test_categories_are_counted_by_code_and_rare_ones_together():
    found = histogram([0] * 20 + [1] * 3 + [2] * 10 + [np.nan], categorical=True)
    assert found.codes.tolist() == [0, 2]
    assert found.counts.tolist() == [20, 10, 3]
    assert found.missing == 1
    assert found.count(np.array([-1.0, 2.0, 9.0, np.nan])).tolist() == [0, 1, 2, 1]


def test_a_large_table_is_sampled_evenly_and_a_wide_one_keeps_what_is_cut():
    X = np.arange(100_000.0)[:, None]
    sample = sample_rows(X, None).X[:, 0]
    assert len(sample) == MOST_ROWS == len(np.unique(sample))
    assert (np.diff(sample) <= 2 * len(X) / MOST_ROWS + 1).all()
    wide = sparse.random(50, 2 * MOST_COLUMNS, 0.1, "csr", random_state=0)
    spread = np.arange(2.0 * MOST_COLUMNS)
    found = count_sample(TrainingSample(wide, None), np.zeros(2000, bool), [3], spread)
    features = [column.feature for column in found.columns]
    assert len(features) == MOST_COLUMNS
    assert 3 in features
    some = sample_rows(wide, None, features)
    assert some.X.shape == (50, MOST_COLUMNS)
    again = count_sample(some, np.zeros(2000, bool), [3], spread)
    assert [column.counts.tolist() for column in again.columns] == [
        column.counts.tolist() for column in found.columns
    ]
    assert [column.feature for column in again.columns] == features
    assert 2 * MOST_COLUMNS - 1 in features


def test_files_and_pickles_hold_counts_and_no_rows(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "kind": rng.choice(["a", "b"], 200)})
    model = ExKMC(2, random_state=0).fit(frame)
    assert isinstance(model._fit_result.histograms, TrainingSample)
    again = pickle.loads(pickle.dumps(model))
    assert isinstance(again._fit_result.histograms, TrainingHistograms)
    model.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert loaded.drift(frame).to_dict() == model.drift(frame).to_dict()
    for value in np.sort(frame["x"])[[0, -1]]:
        assert repr(float(value)) not in (tmp_path / "model.json").read_text()

"""Raw files, as their homes publish them, give the prepared tables; others are refused."""

import gzip
import hashlib
import io
import tarfile
import urllib.request
import zipfile

import numpy as np
import pytest
from sklearn import datasets as sklearn_datasets
from sklearn.feature_extraction.text import CountVectorizer

from tests.helpers.datasets import folder, stored
from tests.helpers.web_server import Web
from treemeans.datasets import TABLE
from treemeans.datasets.prepared_data import check_size, digest
from treemeans.datasets.sources import SOURCES, archive, newsgroups

# ---- raw files, made from the tables, give the tables again --------------------------------------


def zipped(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in files.items():
            made.writestr(name, text)
    return out


def tarred(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as made:
        for name, contents in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(contents)
            made.addfile(member, io.BytesIO(contents))
    out.seek(0)
    return out


def lines(X, labels, more=""):
    cells = [",".join(map(repr, row)) for row in X.tolist()]
    return "".join(f"{row},{more}{label}\n" for row, label in zip(cells, labels, strict=True))


def labels_of(data):
    return [data.target_names[c] for c in data.y]


def raw_mice():
    data = stored("mice_protein")
    with np.load(folder() / "mice_protein.npz") as file:
        X, names = file["X_all"], file["feature_names_all"].tolist()
    kinds = ",".join(f"'{name}'" for name in data.target_names)
    head = ["% a comment", "@RELATION mice_protein", "@attribute MouseID {'309_1','a, b'}"]
    head += [f"@attribute {name} numeric" for name in names]
    head += ["@attribute Genotype {'Control'}", "@attribute 'Treatment' {'Saline'}"]
    head += ["@attribute Behavior {'C/S'}", f"@attribute class {{{kinds}}}", "", "@data"]
    more = "'Control','Saline','C/S',"
    body = lines(X, [f"'{label}'" for label in labels_of(data)], more).replace("nan", "?")
    body = "".join(f"'a, b',{line}\n" for line in body.splitlines())
    return io.BytesIO(("\n".join(head) + "\n" + body).encode())


def raw_anuran():
    data = stored("anuran")
    head = ",".join([f"MFCCs_{i:2}" for i in range(1, 23)] + ["Family,Genus,Species,RecordID\n"])
    labels = [f"{label},7" for label in labels_of(data)]
    return zipped(**{"Frogs_MFCCs.csv": head + lines(data.X, labels, "f,g,"), "Readme.txt": "x"})


def raw_avila():
    data = stored("avila")
    labels = labels_of(data)
    halves = [lines(data.X[part], labels[part]) for part in (slice(10430), slice(10430, None))]
    return zipped(**{"avila/avila-tr.txt": halves[0], "avila/avila-ts.txt": halves[1]})


@pytest.mark.parametrize(
    ("name", "raw"), [("mice_protein", raw_mice), ("anuran", raw_anuran), ("avila", raw_avila)]
)
def test_a_raw_file_gives_the_prepared_table_to_the_last_bit(name, raw):
    made = SOURCES[name].parse(raw())
    check_size(made, TABLE[name], name)
    assert digest(made) == SOURCES[name].digest


def same(made, data, rows):
    np.testing.assert_array_equal(made.X, data.X[rows])
    np.testing.assert_array_equal(made.y, data.y[rows])
    assert made.X.dtype == data.X.dtype
    assert (made.feature_names, made.target_names) == (data.feature_names, data.target_names)


def test_raw_covtype():
    data = stored("covtype")
    rows = slice(0, None, 300)
    text = lines(data.X[rows], data.y[rows] + 1)
    same(SOURCES["covtype"].parse(io.BytesIO(gzip.compress(text.encode()))), data, rows)


def cifar_files(X, y, target_names):
    rows = np.column_stack([y.astype(np.uint8), X])
    batches = {f"data_batch_{i + 1}.bin": r.tobytes() for i, r in enumerate(np.split(rows, 5))}
    batches |= {"test_batch.bin": b"", "batches.meta.txt": "\n".join(target_names).encode() + b"\n"}
    return {f"cifar-10-batches-bin/{name}": contents for name, contents in batches.items()}


@pytest.mark.slow
def test_raw_cifar10():
    data = stored("cifar10")
    rows = slice(0, None, 50)
    raw = tarred(cifar_files(data.X[rows], data.y[rows], data.target_names))
    same(SOURCES["cifar10"].parse(raw), data, rows)


def messages():
    """A small archive of messages; also with bytes that are no text in most encodings."""
    rng = np.random.default_rng(0)
    words = np.array(["apple", "pear", "the", "plum", "caf\xe9", "42", "x"])
    return {
        f"20news-bydate-{half}/{group}/{number}": " ".join(rng.choice(words, 9)).encode("latin-1")
        for half, count in (("train", 23), ("test", 11))
        for group in ("sci.space", "alt.atheism", "rec.autos")
        for number in rng.choice(99_999, count, replace=False)
    }


def test_raw_newsgroups_are_read_as_scikit_learn_reads_them(tmp_path, monkeypatch):
    raw = tarred(messages()).getvalue()
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(urllib.request, "_opener", None)
    module = sklearn_datasets._twenty_newsgroups
    with Web({"20news.tar.gz": raw}) as web:
        meta = module.ARCHIVE._replace(
            url=f"{web.address}/20news.tar.gz", checksum=hashlib.sha256(raw).hexdigest()
        )
        monkeypatch.setattr(module, "ARCHIVE", meta)
        theirs = sklearn_datasets.fetch_20newsgroups(subset="all", data_home=tmp_path)
    counter = CountVectorizer(stop_words="english", min_df=0.01)
    counts = counter.fit_transform(theirs.data)
    made = newsgroups.parse(io.BytesIO(raw))
    np.testing.assert_array_equal(made.X.toarray(), counts.toarray())
    np.testing.assert_array_equal(made.y, theirs.target)
    assert made.feature_names == tuple(counter.get_feature_names_out())
    assert made.target_names == tuple(theirs.target_names)
    assert "café" in made.feature_names
    assert "the" not in made.feature_names


# ---- raw files that are not what they should be --------------------------------------------------


def arff(*names, rows="'a',1,'b','c','d','e'"):
    head = "\n".join(f"@attribute {name} numeric" for name in names)
    return io.BytesIO(f"{head}\n@data\n{rows}\n".encode())


MICE = ("MouseID", "P_N", "Genotype", "Treatment", "Behavior", "class")
FROGS = ",".join(
    [f"MFCCs_{i:2}" for i in range(1, 23)] + ["Family", "Genus", "Species", "RecordID"]
)
FROG = ",".join(["0.5"] * 22 + ["f", "g", "s", "1"])

BAD = {
    "a column is missing": ("mice_protein", arff(*MICE[:-1], "x"), "column 'class' is missing"),
    "a row is short": ("mice_protein", arff(*MICE, rows="'a',1,'b'"), "row 1 has 3 cells, not 6"),
    "no number": ("mice_protein", arff(*MICE, rows="'a',x,'b','c','d','e'"), "could not convert"),
    "no frogs": ("anuran", zipped(**{"other.csv": "x"}), "0 files named 'Frogs_MFCCs.csv'"),
    "two tables": (
        "anuran",
        zipped(**{"a/Frogs_MFCCs.csv": "x", "b/Frogs_MFCCs.csv": "x"}),
        "2 files named",
    ),
    "other column": (
        "anuran",
        zipped(**{"Frogs_MFCCs.csv": f"{FROGS.replace('MFCCs_ 7', 'MFCCs_7')}\n{FROG}\n"}),
        "column 'MFCCs_ 7' is missing",
    ),
    "a long row": (
        "anuran",
        zipped(**{"Frogs_MFCCs.csv": f"{FROGS}\n{FROG}\n{FROG},9\n"}),
        "row 3 has 27 cells, not 26",
    ),
    "one half only": ("avila", zipped(**{"avila/avila-tr.txt": "1," * 10 + "A"}), "'avila-ts.txt'"),
    "columns": ("covtype", io.BytesIO(gzip.compress(b"1,2,3\n4,5,6\n")), "3 columns, not 55"),
    "rows differ": ("covtype", io.BytesIO(gzip.compress(b"1,2,3\n4,5\n")), "number of columns"),
    "too large": ("covtype", io.BytesIO(gzip.compress(b"40000,2,3\n")), "could not convert"),
    "no batch": ("cifar10", tarred({}), "no 'cifar-10-batches-bin/batches.meta.txt'"),
    "half an image": (
        "cifar10",
        tarred(
            {
                **cifar_files(np.zeros((5, 3072), np.uint8), np.zeros(5), "ab"),
                "cifar-10-batches-bin/data_batch_3.bin": b"x" * 3000,
            }
        ),
        "3000 bytes ends in the middle",
    ),
    "a path": (
        "20newsgroups",
        tarred({"20news-bydate-train/../../etc/passwd": b"x"}),
        "is no message",
    ),
}


@pytest.mark.parametrize(("name", "raw", "problem"), BAD.values(), ids=BAD)
def test_a_raw_file_of_another_form_is_refused(name, raw, problem):
    raw.seek(0)
    with pytest.raises(ValueError, match=problem):
        SOURCES[name].parse(raw)


def test_a_member_that_would_fill_the_memory_is_not_unpacked():
    bomb = zipped(big="0" * 100_000)
    with pytest.raises(ValueError, match="'big' is 100000 bytes long, more than 99999"):
        archive.zip_member(bomb, "big", 99_999)
    with pytest.raises(ValueError, match="more than 9"):
        list(archive.tar_members(tarred({"big": b"0" * 10}), 9))
    assert archive.zip_member(bomb, "big", 100_000) == b"0" * 100_000


def test_links_in_an_archive_are_not_followed():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as made:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        made.addfile(link)
    out.seek(0)
    assert list(archive.tar_members(out, 10_000)) == []

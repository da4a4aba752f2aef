"""Many models, on one machine or over a cluster of Dask."""

from __future__ import annotations

import contextlib
import os
import posixpath
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from ._errors import Error, UsageError
from ._progress import ProgressOption, shown
from ._rules import COVERAGE, Options, RuleSet

if TYPE_CHECKING:
    import pandas

Path = Union[str, "os.PathLike[str]"]

COLUMNS = ("model", "output", "status", "error", "nodes_before", "nodes_after",
           "rewrites", "attention_found", "attention_fused", "verified",
           "warnings", "assumptions", "seconds", "bytes_before", "bytes_after",
           "worker")
_MOST_IN_CHUNK, _LARGEST_CHUNK = 16, 1 << 25  # models and bytes of a task
_NUMBERS = {"nodes_before": "Int64", "nodes_after": "Int64",
            "rewrites": "Int64", "attention_found": "Int64",
            "attention_fused": "Int64", "warnings": "Int64",
            "assumptions": "Int64", "bytes_before": "Int64",
            "bytes_after": "Int64", "verified": "boolean"}


def rewrite(models: Path | Iterable[Path], to: Path, rules: object = None, *,
            cluster: Any = None, options: Options | None = None,
            report: Path | None = None, coverage: bool = True,
            progress: ProgressOption = None, **how: Any) -> pandas.DataFrame:
    """Rewrites models, each into the folder `to`.

    Args:
        models: Paths or URLs that fsspec knows, or a folder: all *.onnx in it
            and below. A result has the name that its model has below the folder
            that all models share.
        to: A folder, made if needed. Each result appears whole or not at all.
        rules: Names of packs, texts of rules, or paths that the workers see.
        cluster: None works here, one model after another. A number starts so
            many processes here; else an address, a Client or a Cluster of
            dask.distributed.
        options: Of rules, as in ruleengine.rewrite().
        report: A path or URL for the table as Parquet.
        coverage: Whether attention is counted, as ruleengine.coverage() does:
            the columns attention_found and attention_fused.
        progress: As in ruleengine.rewrite(), in models.
        how: Of RuleSet.rewrite(): target, verify, seconds (of each model), ...

    Returns:
        A row for each model, in their order, with the columns of COLUMNS.
        `status` is "ok", or the class of `error`. A model that fails does not
        stop the others. One whose worker dies is rewritten by another worker.
    """
    import pandas
    if isinstance(rules, RuleSet):
        raise UsageError("a RuleSet cannot be sent to workers",
                         expected="packs, texts or paths of rules")
    jobs = _jobs(models, to, how)
    _make_folders(jobs)
    task = _Task(rules, options, coverage, dict(how))
    rows: list[Mapping[str, Any]] = [{}] * len(jobs)
    with shown(progress, "models") as bar:
        for done, (i, row) in enumerate(_rows(jobs, task, cluster), 1):
            rows[i] = row
            if bar:
                bar(done, len(jobs))
    table = pandas.DataFrame(rows, columns=list(COLUMNS)).astype(_NUMBERS)
    if report is not None:
        _write_report(table, os.fspath(report))
    return table


@dataclass(frozen=True)
class _Job:
    model: str
    output: str


@dataclass(frozen=True)
class _Task:
    """What is done with each model, as workers are told it."""
    rules: object
    options: Options | None
    coverage: bool
    how: dict[str, Any]

    def __call__(self, job: _Job) -> dict[str, Any]:
        begun = time.perf_counter()
        row: dict[str, Any] = {"model": job.model, "output": job.output,
                               "status": "ok", "error": "",
                               "worker": f"{os.uname().nodename}:{os.getpid()}"}
        try:
            row |= self._done(job)
        except (Error, OSError) as error:
            row |= {"status": type(error).__name__, "error": str(error),
                    "output": ""}
        row["seconds"] = time.perf_counter() - begun
        return row

    def _done(self, job: _Job) -> dict[str, Any]:
        rules = _rules_of(self.rules, self.options)
        counting = rules if self.rules is not None else _rules_of(COVERAGE, None)
        with _local(job.model) as path, _written(job.output) as output:
            result = rules.rewrite(path, output=output, **self.how)
            its = result.report
            found = (counting.coverage(result.before) if self.coverage
                     else None)
            return {
                "nodes_before": its.nodes_before,
                "nodes_after": its.nodes_after,
                "rewrites": sum(rule.rewrites for rule in its.rules),
                "attention_found": found and found.found,
                "attention_fused": found and found.fused,
                "verified": its.verified is not None,
                "warnings": len(its.warnings),
                "assumptions": len(its.assumptions),
                "bytes_before": os.path.getsize(path),
                "bytes_after": os.path.getsize(output)}


# The rules of this process, those of the last tasks.
_loaded: dict[str, RuleSet] = {}
_MOST_LOADED = 4


def _rules_of(rules: object, options: Options | None) -> RuleSet:
    key = repr((rules, options))
    if key not in _loaded:
        while len(_loaded) >= _MOST_LOADED:
            del _loaded[next(iter(_loaded))]
        _loaded[key] = RuleSet(rules, options=options)
    return _loaded[key]


# --- Where models and results are ---------------------------------------------


def _file_system(url: str) -> tuple[Any, str]:
    """None and a path for local files."""
    if "://" not in url:
        return None, url
    import fsspec
    fs, path = fsspec.core.url_to_fs(url)
    if isinstance(fs, fsspec.implementations.local.LocalFileSystem):
        return None, path
    return fs, path


def _models_in(fs: Any, path: str) -> list[str]:
    if fs is None:
        found = [os.path.join(at, name) for at, _, names in os.walk(path)
                 for name in names if name.endswith(".onnx")]
    else:
        found = [fs.unstrip_protocol(name) for name in fs.find(path)
                 if name.endswith(".onnx")]
    return sorted(found)


def _jobs(models: Path | Iterable[Path], to: Path,
          how: Mapping[str, Any]) -> list[_Job]:
    if "output" in how:
        raise UsageError("`output` is for one model", hint="give a folder `to`")
    if isinstance(models, (str, os.PathLike)):
        given = os.fspath(models)
        fs, base = _file_system(given)
        if not (os.path.isdir(base) if fs is None else fs.isdir(base)):
            raise UsageError("there is no such folder of models", found=given)
        paths = _models_in(fs, base)
        base = base if fs is None else fs.unstrip_protocol(base)
    else:
        paths = [os.fspath(each) for each in models]
        if not paths:
            return []
        base = _shared_folder(paths)
    base = base.rstrip("/")
    folder = os.fspath(to).rstrip("/")
    names = [path[len(base) + 1:] if base else path for path in paths]
    twice = {name for name in names if names.count(name) > 1} if len(
        set(names)) < len(names) else set()
    if twice:
        raise UsageError("a model is given twice", found=min(twice))
    return [_Job(path, f"{folder}/{name}") for path, name in zip(paths, names)]


def _shared_folder(paths: Sequence[str]) -> str:
    folders = [posixpath.dirname(path) for path in paths]
    parts = [folder.split("/") for folder in folders]
    shared = []
    for column in zip(*parts):
        if len(set(column)) > 1:
            break
        shared.append(column[0])
    return "/".join(shared)


def _make_folders(jobs: Sequence[_Job]) -> None:
    for folder in sorted({posixpath.dirname(job.output) for job in jobs}):
        fs, path = _file_system(folder)
        if fs is None:
            os.makedirs(path, exist_ok=True)
        else:
            fs.makedirs(path, exist_ok=True)


def _data_of(path: str) -> list[str]:
    """The files of external data that a model names."""
    import onnx

    from ._proto import place_of, tensors_of
    model = onnx.load(path, load_external_data=False)
    return sorted({place_of(tensor.external_data)[0]
                   for tensor in tensors_of(model)
                   if tensor.data_location == onnx.TensorProto.EXTERNAL})


@contextlib.contextmanager
def _local(url: str) -> Iterator[str]:
    """The model as a local file; others are copied, with their data."""
    fs, path = _file_system(url)
    if fs is None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="ruleengine-") as folder:
        copy = os.path.join(folder, posixpath.basename(path))
        fs.get_file(path, copy)
        for name in _data_of(copy):
            to = os.path.normpath(os.path.join(folder, name))
            if not to.startswith(folder + os.sep):
                raise UsageError("the model's data is outside its folder",
                                 where=url, found=name)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            fs.get_file(posixpath.join(posixpath.dirname(path), name), to)
        yield copy


@contextlib.contextmanager
def _written(url: str) -> Iterator[str]:
    """A path to write, which becomes that of `url` if nothing is raised: the
    engine does so for local files, others get their data first, and each file
    its name at the end."""
    fs, path = _file_system(url)
    if fs is None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="ruleengine-") as folder:
        name = posixpath.basename(path)
        yield os.path.join(folder, name)
        for each in sorted(os.listdir(folder), key=lambda n: n == name):
            to = posixpath.join(posixpath.dirname(path), each)
            part = f"{to}.{os.getpid()}.part"
            fs.put_file(os.path.join(folder, each), part)
            fs.mv(part, to)


def _write_report(table: pandas.DataFrame, url: str) -> None:
    with tempfile.TemporaryDirectory(prefix="ruleengine-") as folder:
        path = os.path.join(folder, "report.parquet")
        table.to_parquet(path, index=False)
        fs, to = _file_system(url)
        if fs is None:
            part = f"{to}.{os.getpid()}.part"
            shutil.copyfile(path, part)
            os.replace(part, to)
        else:
            fs.put_file(path, to)


# --- Where the work is done ---------------------------------------------------


def _rows(jobs: Sequence[_Job], task: _Task,
          cluster: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if cluster is None:
        for i, job in enumerate(jobs):
            yield i, task(job)
        return
    from dask import distributed
    with _client(cluster) as client:
        chunks = _chunks(jobs, sum(client.nthreads().values()))
        places: dict[Any, Sequence[int]] = {}

        def submit(chunk: Sequence[int]) -> Any:
            future = client.submit(_do_all, task, [jobs[i] for i in chunk],
                                   pure=False)
            places[future] = chunk
            return future
        done: Any = distributed.as_completed(  # type: ignore[no-untyped-call]
            [submit(chunk) for chunk in chunks])
        try:
            for future in done:
                chunk = places.pop(future)
                if future.status == "finished":
                    yield from zip(chunk, future.result())
                elif len(chunk) > 1:  # one of them ends workers
                    for i in chunk:
                        done.add(submit([i]))
                else:
                    yield chunk[0], _row_of(future.exception(), jobs[chunk[0]])
        finally:
            client.cancel(list(places))


def _do_all(task: _Task, jobs: Sequence[_Job]) -> list[dict[str, Any]]:
    return [task(job) for job in jobs]


def _chunks(jobs: Sequence[_Job], threads: int) -> list[list[int]]:
    """Small models together, since a task costs a millisecond or two; each
    thread still gets some chunks."""
    most = max(1, min(_MOST_IN_CHUNK, len(jobs) // (8 * max(threads, 1))))
    out: list[list[int]] = []
    size = 0
    for i, job in enumerate(jobs):
        its = _size_of(job.model)
        if not out or len(out[-1]) >= most or size + its > _LARGEST_CHUNK:
            out.append([])
            size = 0
        out[-1].append(i)
        size += its
    return out


def _size_of(url: str) -> int:
    """Bytes; 0 where that is not known at once."""
    try:
        return os.path.getsize(url)
    except OSError:
        return 0


def _row_of(error: BaseException, job: _Job) -> Mapping[str, Any]:
    """Of a model whose workers died."""
    return {"model": job.model, "output": "", "status": type(error).__name__,
            "error": str(error), "worker": "", "seconds": float("nan")}


@contextlib.contextmanager
def _client(cluster: Any) -> Iterator[Any]:
    """A client of the cluster, and for a number the cluster itself."""
    from dask import distributed
    if isinstance(cluster, distributed.Client):
        yield cluster
        return
    if isinstance(cluster, int):
        with distributed.LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=cluster, threads_per_worker=1, processes=True,
                dashboard_address=None) as local, \
                distributed.Client(local) as client:  # type: ignore
            yield client
        return
    with distributed.Client(cluster) as client:  # type: ignore
        yield client

"""Many models, on one machine or over a cluster of Dask."""

from __future__ import annotations

import contextlib
import os
import posixpath
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._arguments import Options, Path, RewriteOptions, Rules, check_names
from ._errors import UsageError, WriteError
from ._progress import ProgressOption, shown
from ._rules import COVERAGE, RuleSet, borrowed, is_shipped

if TYPE_CHECKING:
    import pandas
    from typing_extensions import Unpack

COLUMNS = ("model", "output", "status", "error", "nodes_before", "nodes_after",
           "rewrites", "attention_found", "attention_fused", "verified",
           "warnings", "assumptions", "seconds", "bytes_before", "bytes_after",
           "worker")
# A model without nodes, to try options on.
_NOTHING = b"\x08\x08:\x03\x12\x01gB\x02\x10\x11"
_MOST_IN_CHUNK, _LARGEST_CHUNK = 16, 1 << 25  # models and bytes of a task
_NUMBERS = {"nodes_before": "Int64", "nodes_after": "Int64",
            "rewrites": "Int64", "attention_found": "Int64",
            "attention_fused": "Int64", "warnings": "Int64",
            "assumptions": "Int64", "bytes_before": "Int64",
            "bytes_after": "Int64", "verified": "boolean"}


def rewrite(models: Path | Iterable[Path], to: Path, rules: Rules = None, *,
            cluster: Any = None, options: Options | None = None,
            report: Path | None = None, coverage: bool = True,
            progress: ProgressOption = None,
            **how: Unpack[RewriteOptions]) -> pandas.DataFrame:
    """Rewrites models, each into the folder `to`.

    Args:
        models: Paths or URLs that fsspec knows, or a folder: all *.onnx in it
            and below. A result has the name that its model has below the folder
            that all models share.
        to: A folder, made if needed. Each result appears whole or not at all.
        rules: As in ruleengine.rewrite(). Paths are those that workers see.
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
    check_names(how)
    jobs = _jobs(models, to)
    task = _Task(rules, options, coverage, how)
    task.check()
    outputs = [job.output for job in jobs]
    if report is not None:
        outputs.append(os.fspath(report))
        if os.path.isdir(outputs[-1]):
            raise UsageError("the report is a folder", found=outputs[-1])
    _make_folders(outputs)
    rows: list[Mapping[str, Any]] = [{}] * len(jobs)
    with shown(progress, "rewriting", "model") as bar:
        for done, (i, row) in enumerate(_rows(jobs, task, cluster), 1):
            rows[i] = row
            if bar:
                bar(done, len(jobs))
    table = pandas.DataFrame(rows, columns=list(COLUMNS)).astype(_NUMBERS)
    if report is not None:
        with tempfile.TemporaryDirectory(prefix="ruleengine-") as folder:
            path = os.path.join(folder, "report.parquet")
            table.to_parquet(path, index=False)
            _publish(path, *_file_system(os.fspath(report)))
    return table


@dataclass(frozen=True)
class _Job:
    model: str
    output: str


@dataclass(frozen=True)
class _Task:
    """What is done with each model, as workers are told it."""
    rules: Any
    options: Options | None
    coverage: bool
    how: RewriteOptions

    def check(self) -> None:
        """Raises what is wrong for all models. Rules of paths are those that
        workers see."""
        ships = isinstance(self.rules, RuleSet) or is_shipped(self.rules)
        how: RewriteOptions = {**self.how, "dims": None, "folder": None,
                               "share_data": False}
        with borrowed(self.rules if ships else COVERAGE,
                      self.options if ships else None) as rules:
            rules.rewrite(_NOTHING, **how)

    def __call__(self, jobs: Sequence[_Job]) -> list[dict[str, Any]]:
        """The rows of some models, with rules that are loaded once."""
        try:
            with borrowed(self.rules, self.options) as rules, \
                    self._counting(rules) as counting:
                return [self._row(job, rules, counting) for job in jobs]
        except Exception as error:  # of a worker that sees no such rules
            return [_row_of(error, job) for job in jobs]

    @contextlib.contextmanager
    def _counting(self, rules: RuleSet) -> Iterator[RuleSet]:
        """The rules that attention is counted with."""
        if self.rules is not None:
            yield rules
            return
        with borrowed(COVERAGE, None) as its:
            yield its

    def _row(self, job: _Job, rules: RuleSet,
             counting: RuleSet) -> dict[str, Any]:
        begun = time.perf_counter()
        try:
            row = {"status": "ok", "error": "", "output": job.output,
                   **self._done(job, rules, counting)}
        except Exception as error:  # one model does not stop the others
            row = _row_of(error, job)
        # Names of files need not be Unicode, but those of tables do.
        shown = {key: str(row.get(key, job.model)).encode(
            errors="backslashreplace").decode()
            for key in ("model", "output", "error")}
        return {**row, **shown,
                "seconds": time.perf_counter() - begun,
                "worker": f"{os.uname().nodename}:{os.getpid()}"}

    def _done(self, job: _Job, rules: RuleSet,
              counting: RuleSet) -> dict[str, Any]:
        with _local(job.model) as path, _written(job.output) as output:
            its = rules.rewrite(path, output=output, **self.how).report
            row = {
                "nodes_before": its.nodes_before,
                "nodes_after": its.nodes_after,
                "rewrites": sum(rule.rewrites for rule in its.rules),
                "verified": its.verified is not None,
                "warnings": len(its.warnings),
                "assumptions": len(its.assumptions),
                "bytes_before": os.path.getsize(path),
                "bytes_after": os.path.getsize(output)}
            if self.coverage:
                found = counting.coverage(path)
                row |= {"attention_found": found.found,
                        "attention_fused": found.fused}
            return row


def _row_of(error: BaseException, job: _Job) -> dict[str, Any]:
    """The row of a model that was not rewritten."""
    return {"model": job.model, "output": "", "status": type(error).__name__,
            "error": str(error), "worker": "", "seconds": float("nan")}


# --- Where models and results are ---------------------------------------------


def _file_system(url: str) -> tuple[Any, str]:
    """None and a path for local files."""
    if "://" not in url:
        return None, url
    import fsspec
    try:
        fs, path = fsspec.core.url_to_fs(url)
    except (ValueError, ImportError) as error:
        raise UsageError("no file system has this URL", where=url,
                         found=str(error)) from error
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


def _resolved(url: str) -> str:
    """One name of a file or folder: an absolute path, or a URL."""
    fs, path = _file_system(url)
    if fs is None:
        return os.path.abspath(path)
    return str(fs.unstrip_protocol(path))


def _jobs(models: Path | Iterable[Path], to: Path) -> list[_Job]:
    if isinstance(models, (str, os.PathLike)):
        given = os.fspath(models)
        fs, path = _file_system(given)
        if not (os.path.isdir(path) if fs is None else fs.isdir(path)):
            raise UsageError("there is no such folder of models", found=given)
        base, paths = _resolved(given), _models_in(fs, path)
    else:
        paths = [_resolved(os.fspath(each)) for each in models]
        base = _shared_folder(paths)
    paths = [_resolved(path) for path in paths]
    if len({path.partition("://")[0] for path in paths if "://" in path} |
           {"" for path in paths if "://" not in path}) > 1:
        raise UsageError("the models are in several file systems",
                         hint="rewrite those of each apart")
    folder = _resolved(os.fspath(to)).rstrip("/")
    jobs = [_Job(path, f"{folder}/{path[len(base):].lstrip('/')}")
            for path in paths]
    for what, count in Counter(job.output for job in jobs).items():
        if count > 1:
            raise UsageError("a model is given twice", found=what)
    read = {*paths}
    for job in jobs:
        if job.output in read:
            raise UsageError("a result would replace a model", found=job.output,
                             hint="give another folder `to`")
    return jobs


def _shared_folder(paths: Sequence[str]) -> str:
    """The folder of all paths, without names that only some of them have."""
    shared: list[str] = []
    for column in zip(*(posixpath.dirname(path).split("/") for path in paths)):
        if len({*column}) > 1:
            break
        shared.append(column[0])
    return "/".join(shared)


def _make_folders(outputs: Iterable[str]) -> None:
    for url in sorted({posixpath.dirname(output) for output in outputs}):
        fs, path = _file_system(url)
        try:
            if fs is not None:
                fs.makedirs(path, exist_ok=True)
            elif path:
                os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise WriteError("a folder of results cannot be made", where=url,
                             found=error.strerror or str(error)) from error


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
    """A path to write, whose files appear at `url` if nothing is raised. The
    engine does so for local files; of others the data appears first."""
    fs, path = _file_system(url)
    if fs is None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="ruleengine-") as folder:
        name = posixpath.basename(path)
        yield os.path.join(folder, name)
        for each in sorted(os.listdir(folder), key=lambda n: n == name):
            _publish(os.path.join(folder, each), fs,
                     posixpath.join(posixpath.dirname(path), each))


def _publish(made: str, fs: Any, to: str) -> None:
    """Copies a local file, which appears whole or not at all."""
    part = f"{to}.{os.getpid()}.part"
    try:
        if fs is None:
            shutil.copyfile(made, part)
            os.replace(part, to)
        else:
            fs.put_file(made, part)
            fs.mv(part, to)
    except BaseException:
        with contextlib.suppress(Exception):
            os.remove(part) if fs is None else fs.rm_file(part)
        raise


# --- Where the work is done ---------------------------------------------------


def _rows(jobs: Sequence[_Job], task: _Task,
          cluster: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if cluster is None:
        for i, job in enumerate(jobs):
            yield i, task([job])[0]
        return
    from dask import distributed
    with _client(cluster) as client:
        chunks = _chunks(jobs, sum(client.nthreads().values()))
        places: dict[Any, Sequence[int]] = {}

        def submit(chunk: Sequence[int]) -> Any:
            future = client.submit(task, [jobs[i] for i in chunk], pure=False)
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


@contextlib.contextmanager
def _client(cluster: Any) -> Iterator[Any]:
    """A client of the cluster, and for a number the cluster itself."""
    from dask import distributed
    if isinstance(cluster, distributed.Client):
        yield cluster
        return
    if isinstance(cluster, int):
        if isinstance(cluster, bool) or cluster < 1:
            raise UsageError("`cluster` is no number of processes",
                             expected="1 or more", found=repr(cluster))
        with distributed.LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=cluster, threads_per_worker=1, processes=True,
                dashboard_address=None) as local, \
                distributed.Client(local) as client:  # type: ignore
            yield client
        return
    with distributed.Client(cluster) as client:  # type: ignore
        yield client

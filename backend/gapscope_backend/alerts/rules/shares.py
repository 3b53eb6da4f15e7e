"""What rules over ledgers share: the ledgers of a rule's subjects, and one cause that holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gapscope_backend.alerts.look import GpuLedger, Ledgers, LedgerShare
from gapscope_backend.alerts.rules.kind import Finding, Question, gpu_name, takes_cause, title_of, truth_of
from gapscope_backend.alerts.states import Truth
from gapscope_backend.analysis.language import Text

GPU, JOB, HOST = "gpu", "job", "host"
GAP_SECONDS = 300.0
"""Rolling verdicts come every 10 s; on a fleet that is too large for its worker, every few minutes."""
COVERS_SECONDS = 60.0
NOT_MEASURED = "not_measured"


@dataclass(frozen=True)
class Subject:
    """Whose ledger: a GPU's, a job's or the host's, of ``gpu_seconds`` in all, of which ``measured`` were seen."""

    key: str
    name: Text
    rows: Sequence[LedgerShare]
    job: str = ""

    @property
    def gpu_seconds(self) -> float:
        """All of it."""
        return sum(row.gpu_seconds for row in self.rows)

    @property
    def measured(self) -> float:
        """Without the time of which nothing is known."""
        return sum(row.gpu_seconds for row in self.rows if row.cause != NOT_MEASURED)


def subjects(question: Question, by: str) -> Iterator[Subject]:
    """The subjects that a rule's scope takes."""
    host, ledgers = question.look.host, question.look.ledgers
    if ledgers is None:
        return
    taken = [gpu for gpu in ledgers.gpus if question.takes(host.gpus.get(gpu.gpu), _jobs_of(ledgers, gpu.gpu))]
    if by == JOB:
        for job in ledgers.jobs:
            if question.takes(None, job.command):
                yield Subject(job.job, Text("{name}", name=job.command or job.job), job.ledger, job.command)
    elif by == HOST:
        if taken:
            yield Subject("", Text("{name}", name=host.name), _summed(taken))
    else:
        for gpu in taken:
            yield Subject(gpu.gpu, gpu_name(host, gpu.gpu), gpu.ledger, _jobs_of(ledgers, gpu.gpu))


def gone(question: Question, found: Sequence[str], by: str) -> Iterator[Finding]:
    """Tracked subjects that a ledger does not name: of a GPU nothing is known, a job is over."""
    ledgers = question.look.ledgers
    if ledgers is not None:
        for subject, facet in question.tracked:
            if subject not in found:
                truth = Truth.CLEARS if by == JOB else Truth.UNKNOWN
                yield Finding(subject, ledgers.end_ns, truth, facet=facet)


def holding(question: Question, causes: Sequence[str], share: float, clear_share: float, by: str) -> Iterator[Finding]:
    """Each cause of each subject that takes its share of the time; a cause that does is told until it clears."""
    ledgers = question.look.ledgers
    if ledgers is None:
        return
    found = []
    for subject in subjects(question, by):
        found.append(subject.key)
        tracked = {facet for key, facet in question.tracked if key == subject.key}
        if subject.measured <= 0:
            yield from (Finding(subject.key, ledgers.end_ns, Truth.UNKNOWN, facet=facet) for facet in sorted(tracked))
            continue
        shares = {row.cause: row.gpu_seconds / subject.measured for row in subject.rows if row.cause != NOT_MEASURED}
        wanted = {row.cause for row in subject.rows if takes_cause(causes, row.cause, row.row_class)}
        for cause in sorted((wanted & shares.keys()) | tracked):
            value = shares.get(cause, 0.0)
            if cause in tracked or value >= share:
                yield _cause_finding(subject, ledgers, cause, value, (share, clear_share))
    yield from gone(question, found, by)


def _cause_finding(
    subject: Subject, ledgers: Ledgers, cause: str, value: float, limits: tuple[float, float]
) -> Finding:
    sentence = Text(
        "{name!u} lost {share:.0%} of the last {seconds:.0f} s to one cause: {cause!l}.",
        name=subject.name,
        share=value,
        seconds=ledgers.seconds,
        cause=title_of(cause),
    )
    return Finding(
        subject=subject.key,
        at_ns=ledgers.end_ns,
        truth=truth_of(value, *limits),
        sentence=sentence,
        value=value,
        threshold=limits[0],
        since_ns=ledgers.start_ns,
        cause=cause,
        facet=cause,
        job=subject.job,
    )


def costliest(rows: Sequence[LedgerShare], causes: Sequence[str]) -> str:
    """The cause that took most, of those named; empty where none took anything."""
    taken = [row for row in rows if takes_cause(causes, row.cause, row.row_class)]
    return max(taken, key=lambda row: row.gpu_seconds).cause if taken else ""


def _jobs_of(ledgers: Ledgers, gpu: str) -> str:
    return next((job.command for job in ledgers.jobs if gpu in job.gpus), "")


def _summed(gpus: Sequence[GpuLedger]) -> list[LedgerShare]:
    rows: dict[str, LedgerShare] = {}
    total = sum(row.gpu_seconds for gpu in gpus for row in gpu.ledger) or 1.0
    for gpu in gpus:
        for row in gpu.ledger:
            known = rows.get(row.cause)
            seconds = row.gpu_seconds + (known.gpu_seconds if known else 0.0)
            busy = row.busy_gpu_seconds + (known.busy_gpu_seconds if known else 0.0)
            confidence = max(row.confidence, known.confidence if known else 0.0)
            rows[row.cause] = LedgerShare(row.cause, row.row_class, seconds, seconds / total, confidence, busy)
    return list(rows.values())

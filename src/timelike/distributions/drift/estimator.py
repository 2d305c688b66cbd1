"""`Drift`: monitors whether new batches still resemble a reference, with a false-alarm rate over all updates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_float, check_int, format_count, store_parameters
from ...core.random import MAX_RESAMPLES, RandomState, check_random_state
from ...core.threads import with_object_lock
from ...models import Model, options, schema
from ...sequences import Sequences
from ...sequences.validation import validate_estimator_input
from ..kernels.algebra import Sum
from ..kernels.base import FunctionKernel, Kernel, as_kernel, default_kernel
from ..two_sample.samples import missing_value_notes, refuse_overlap, repeat_notes
from ..validation import drop_metadata, refuse_other_channels, refuse_other_frame, to_sequences, validate_sample
from .batch_test import compare_parts, deal_parts, n_parts
from .evidence import Evidence, change_point, is_alarm
from .pool import POOL_SCHEMA, ReferencePool, UnitKind, assign_units, choose_unit_kind
from .report import BatchPart, DriftReport, DriftUpdate, build_report
from .stream import DriftStream

_MIN_OPEN_REFERENCE = 4  # smallest reference for a kernel with open options
# fraction of the reference that resolves open options: batches must not be compared with those items
_KERNEL_FRACTION = 0.3


def _check_probability(value: Any, name: str) -> float:
    if check_float(value, name, above=0.0) >= 1:
        raise ValueError(f"{name}={value}: expected a probability between 0 and 1, such as 0.01")
    return float(value)


class Drift(Model):
    """Detects whether batches of sequences still resemble a reference, and since when they do not.

    Every batch is compared, by MMD and an exact permutation test, with all earlier items: the reference and the batches
    so far. As long as nothing has changed these are exchangeable, the smoothed p-values of the batches are independent
    and uniform, and bets against them are fair: the evidence E_t of `evidence.Evidence` exceeds 1 / `false_alarm` *at
    any time* with a probability of at most `false_alarm` (Ville's inequality), after ten updates or ten thousand.
    Separate tests of each batch at 1 % would raise a false alarm every hundred batches.

    A large batch is compared in random parts, because one p-value alone cannot be small enough for an alarm after many
    quiet batches. The number of parts is the smallest that can raise the alarm (`n_parts`), with at least ten items or
    groups each, so that in most streams a completely changed batch of twenty raises it at once.

    Batches have one item or more: sequences, or vectors such as the embeddings of a model. Sequences must be
    exchangeable if nothing changes: windows must not overlap, and sequences of one subject or recording belong in one
    group. Groups are exchanged as wholes, so groups of batches must be about as large as those of the reference:
    smaller ones vary more and would look like a change. A slow change becomes part of the memory (`memory`) and may go
    unnoticed; for a single comparison, use `TwoSample`.

    Parameters
    ----------
    reference : Sequences or array, optional
        Reference data; the first `update` fits it. `Drift().fit(reference)` does so at once. An array of two axes is
        vectors (item, feature).
    kernel : Kernel or callable, optional
        None is `RBF()` for vectors, and for sequences both `EncoderKernel(Rocket(n_features=2000), RBF())` and
        `EncoderKernel(StatisticsEncoder(), RBF())`, of which the larger statistic counts, as in `TwoSample`. Open
        options are resolved by a random 30 % of the reference, with which no batch is compared.
    false_alarm : float
        The probability of an alarm, ever, if nothing changes.
    n_permutations : int
        Maximum per batch or part; permuting stops once p is decided. With more, a single batch can give more evidence.
    memory : int
        Maximum number of items, or groups, that a batch is compared with.
    random_state : int, Generator or None

    Attributes
    ----------
    kernel_ : Kernel
        The fitted kernel, with every width and encoder determined.
    batches_ : list of dict
        Size, p-value and name of every batch so far, sizes and smoothed p-values of its parts, and, for the batch that
        raised the alarm, the batch of the change.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> rng = np.random.default_rng(1)
    >>> def week(pace):
    ...     return [np.sin(np.arange(40) / pace + rng.uniform(0, 6)) for _ in range(15)]
    >>> drift = tl.distributions.Drift(week(4) + week(4) + week(4), false_alarm=0.01, random_state=0)
    >>> [drift.update(week(4)).drifted for _ in range(5)]
    [False, False, False, False, False]
    >>> [drift.update(week(5)).drifted for _ in range(3)]
    [False, True, True]
    >>> print(drift.report().since)
    6
    """

    reference = options.nullable(options.Option(validate_sample, "free"))
    kernel = options.nullable(options.Option(as_kernel))
    false_alarm = options.Option(_check_probability, "free")
    n_permutations = options.integer(19, "free", most=MAX_RESAMPLES)
    memory = options.integer(10, "free")
    random_state = options.random_seed()

    kernel_: Kernel = schema.estimator(Kernel)
    pool_: ReferencePool = POOL_SCHEMA
    batches_: list[dict[str, Any]] = schema.list_of(
        schema.typed_dict(
            size=schema.integer(1),
            p_value=schema.real(0, 1),
            statistic=schema.real(),
            when=schema.string(),
            sizes=schema.list_of(schema.integer(1), "part", least=1),
            smoothed=schema.list_of(schema.real(math.ulp(0), 1), "part"),
            since=schema.nullable(schema.integer(1)),
        )
    )
    seed_: int = schema.integer(0)
    unit_kind_: UnitKind = schema.string(*get_args(UnitKind))
    seen_groups_: list[Any] = schema.list_of(schema.label())
    channel_names_: list[str] | None = schema.nullable(schema.channel_names())
    evidence_: Evidence = schema.derived_value()
    precomputed_: Any = schema.derived_value()
    similarities_: NDArray[np.float64] = schema.derived_value()

    def __init__(
        self,
        reference: Any = None,
        *,
        kernel: Any = None,
        false_alarm: float = 0.01,
        n_permutations: int = 9999,
        memory: int = 2000,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())
        # any other value is validated by `update`: scikit-learn requires constructors to accept anything
        if isinstance(reference, Sequences) or getattr(reference, "ndim", 0) > 1:
            self._refuse_few(len(reference), "reference", kernel is None)

    # --- the reference ------------------------------------------------------------------------------------------------

    @with_object_lock
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Take X as the reference; earlier batches are forgotten.

        `groups` (item,) are exchanged as wholes, here and in every batch: None uses the groups of X, False single
        items.
        """
        self._fit_reference(X, groups, "X")
        return self

    def _fit_reference(self, X: Any, groups: Any, name: str) -> None:
        with self._atomic_fit():
            sequences = self._validate_fit_input(X)
            rng = check_random_state(self.random_state)
            self.seed_ = int(rng.integers(2**62))
            self.channel_names_ = None if sequences.channel_names is None else list(sequences.channel_names)
            self.unit_kind_ = choose_unit_kind(groups, sequences)
            unit, self.seen_groups_ = assign_units(sequences, groups, self.unit_kind_, "X", [])
            refuse_overlap([sequences], ["X"], unit, "groups")
            sequences = drop_metadata(sequences, keep_times=True)
            rest = self._resolve_kernel(sequences, unit, rng, name)
            unit = np.unique(unit[rest], return_inverse=True)[1].astype(np.int64)
            self.pool_ = ReferencePool.from_reference(sequences[rest].copy(), rest, unit).subsample(self.memory, rng)
            self.batches_ = []
            self._derive_attributes()

    def _resolve_kernel(
        self, items: Sequences, unit: NDArray[np.int64], rng: np.random.Generator, name: str
    ) -> NDArray[np.int64]:
        """Resolve the kernel's open options by a part of the reference; returns the positions of the rest."""
        kernel = self._choose_kernel(items)
        order = rng.permutation(unit.max() + 1)
        self._refuse_few(
            len(order), name, kernel.has_open_options, "group" if self.unit_kind_ == "groups" else "sample"
        )
        n_learn = round(_KERNEL_FRACTION * len(order)) if kernel.has_open_options else 0
        learn = np.isin(unit, order[:n_learn])
        if kernel.has_open_options and learn.sum() < 2:  # a width needs two items
            learn = np.isin(unit, order[: n_learn + 1])
        deciding_items = items[np.flatnonzero(learn)] if kernel.has_open_options else items
        self.kernel_ = (kernel.resolve(deciding_items, rng) if kernel.has_open_options else kernel).center_on(
            deciding_items
        )
        return np.flatnonzero(~learn)

    @staticmethod
    def _refuse_few(n_units: int, name: str, leaves_open: bool, what: str = "sample") -> None:
        """Raise an error for a reference that is too small for comparisons or for resolving the kernel."""
        if n_units < (_MIN_OPEN_REFERENCE if leaves_open else 2):
            raise ValueError(
                f"{name} holds {format_count(n_units, what)}: expected "
                f"{'at least four, as a third resolves open kernel options' if leaves_open else 'at least two'}"
                + ("; windows of one recording need groups of their own, such as blocks" if what == "group" else "")
            )

    def _choose_kernel(self, items: Sequences | None = None) -> Kernel:
        return default_kernel(() if items is None else (items,)) if self.kernel is None else as_kernel(self.kernel)

    def _check_attributes(self, attributes: Mapping[str, Any]) -> None:
        super()._check_attributes(attributes)
        for number, batch in enumerate(self.batches_, 1):
            if (batch["since"] or 0) > number:
                raise ValueError(f"batches_[{number - 1}]['since'] is {batch['since']}: expected at most {number}")

    def _derive_attributes(self) -> None:
        """Recompute the kernel's items of the pool, their similarities, and the evidence so far."""
        self.precomputed_ = self.kernel_._precompute_items(self.pool_.items, "X")
        compared_ids = np.flatnonzero(self.pool_.compared)
        self.similarities_ = self._similarities(self.precomputed_[compared_ids], None)
        self.evidence_ = Evidence(batch["smoothed"] for batch in self.batches_)

    # --- batches ------------------------------------------------------------------------------------------------------

    @with_object_lock
    def update(self, batch: Any, *, groups: Any = None, when: str | None = None) -> DriftUpdate:
        """Add one more batch, of one item or more; `when` is its name in reports, such as a date.

        A rejected batch changes nothing. Of a batch with more than `memory` units, that many are sampled.
        """
        self._ensure_fitted()
        _check_probability(self.false_alarm, "false_alarm")
        number = len(self.batches_) + 1
        rng = np.random.default_rng([self.seed_, number])
        name = str(number) if when is None else str(when)
        new = self._read_batch(batch, groups, name, rng)
        grown_pool = self.pool_.append_batch(new.items, new.places, new.names, new.unit, number)
        precomputed = self.kernel_._precompute_items(new.items, "batch")
        similarities = self._extend_similarities(precomputed)
        n_units = int(new.unit.max()) + 1
        parts = deal_parts(new.unit, n_parts(n_units, number, self.n_permutations, self.false_alarm), rng)
        comparison = compare_parts(similarities, grown_pool, parts, self.n_permutations, self.memory, rng)
        record: dict[str, Any] = {
            "size": len(new.items),
            "p_value": comparison.whole.p_value,
            "statistic": comparison.whole.statistic,
            "when": name,
            "sizes": [len(part) for part in parts],
            "smoothed": [result.smoothed_p_value for result in comparison.parts],
            "since": None,
        }
        highest = max(self.evidence_.preview(record["smoothed"]))
        if not self.drifted and is_alarm(highest, self.false_alarm):
            record["since"] = change_point(similarities, grown_pool.batch[grown_pool.compared], number)
        memory = self._select_memory(comparison.pool, precomputed, similarities)
        # the state changes last, so that an error leaves it as it was
        self.__dict__.update(memory, seen_groups_=new.seen_groups, batches_=[*self.batches_, record])
        self.evidence_.add(record["smoothed"])
        results = zip(parts, comparison.parts, self.evidence_.values_after(number), strict=True)
        return self._make_update(
            tuple(BatchPart(new.places[part], result.p_value, evidence) for part, result, evidence in results),
            new.notes,
        )

    def _read_batch(self, batch: Any, groups: Any, name: str, rng: np.random.Generator) -> _Batch:
        """Validate a batch, and sample its units if it has more than `memory`."""
        items, before = self._validate_batch(batch), self.pool_.items
        unit, seen_groups = assign_units(items, groups, self.unit_kind_, "batch", self.seen_groups_)
        all_units = np.concatenate([self.pool_.unit, self.pool_.unit.max() + 1 + unit])
        refuse_overlap([before, items], ["reference", "batch"], all_units, "groups")
        names = np.array([f"{name}[{i}]" for i in range(len(items))] if items.ids is None else items.ids.astype(str))
        places = _sample_units(unit, self.memory, rng)
        notes = (*repeat_notes(before, items), *missing_value_notes(before, items, ("the compared items", "the batch")))
        if len(places) < len(items):
            notes = (*notes, f"{len(places)} of its {len(items)} items were sampled, as memory={self.memory}")
            unit = np.unique(unit[places], return_inverse=True)[1].astype(np.int64)
        items = drop_metadata(items[places], keep_times=before.times is not None).copy()
        return _Batch(items, places, names[places], unit, seen_groups, notes)

    def _make_update(self, parts: tuple[BatchPart, ...], notes: tuple[str, ...]) -> DriftUpdate:
        number, batch = len(self.batches_), self.batches_[-1]
        alarm = self._alarm_position()
        return DriftUpdate(
            drifted=alarm is not None,
            p_value=min(1.0, 1 / self.evidence_.max_value),
            batch=number,
            batch_p_value=batch["p_value"],
            evidence=self.evidence_.value,
            since=self._change_batch(),
            statistic=batch["statistic"],
            when=batch["when"],
            parts=parts,
            alarm_part=alarm[1] if alarm is not None and alarm[0] == number else None,
            notes=notes,
        )

    def _alarm_position(self) -> tuple[int, int] | None:
        """The batch and its part that raised the alarm; None without an alarm."""
        return self.evidence_.first_alarm(_check_probability(self.false_alarm, "false_alarm"))

    def _change_batch(self) -> int | None:
        """The batch of the change, if there is an alarm, as dated when the alarm was raised."""
        alarm = self._alarm_position()
        if alarm is None:
            return None
        since = self.batches_[alarm[0] - 1]["since"]
        if since is None:  # false_alarm was different then: date by the remaining items, or by the bets
            since = change_point(self.similarities_, self.pool_.batch[self.pool_.compared], alarm[0])
        return self.evidence_.change_batch(alarm[0]) if since is None else int(since)

    def _ensure_fitted(self) -> None:
        """Fit the reference of the constructor, once."""
        if not self.__sklearn_is_fitted__() and self.reference is not None:
            self._fit_reference(self.reference, None, "reference")
        self._require_fitted()

    def _validate_batch(self, batch: Any) -> Sequences:
        items = to_sequences(validate_sample(batch, "batch", self.kernel_.domain))
        refuse_other_frame(items, self.frame_, "batch", "the reference")
        refuse_other_channels(items, self.channel_names_, "batch", "the reference")
        if self.pool_.items.times is not None and items.times is None:
            raise ValueError("batch has no times and the reference has times: give times for both, or for neither")
        self.kernel_._validate_sides((self.pool_.items, "the reference"), (items, "batch"))
        return items

    def _extend_similarities(self, precomputed: Any) -> NDArray[np.float64]:
        """Similarities of all compared items followed by the batch, (kernel, item, item)."""
        before = self.precomputed_[np.flatnonzero(self.pool_.compared)]
        across, own = self._similarities(precomputed, before), self._similarities(precomputed, None)
        return np.block([[self.similarities_, across.transpose(0, 2, 1)], [across, own]])

    def _similarities(self, x: Any, y: Any | None) -> NDArray[np.float64]:
        """Of what `precomputed_` holds, (kernel, item, item): of the default kernels each by itself, as tests take
        them.
        """
        if self.kernel is None and isinstance(self.kernel_, Sum):
            sides = [None] * len(x.parts) if y is None else y.parts
            pairs = zip(self.kernel_.parts, x.parts, sides, strict=True)
            return np.stack([part._kernel_matrix(one, other) for part, one, other in pairs])
        return self.kernel_._kernel_matrix(x, y)[None]

    def _select_memory(
        self, pool: ReferencePool, precomputed: Any, similarities: NDArray[np.float64]
    ) -> dict[str, Any]:
        """The attributes after the update: pool, precomputed items and similarities of the items that stay."""
        was_compared = np.concatenate([self.pool_.compared, np.ones(len(precomputed), bool)])
        stays_compared, positions = pool.compared[was_compared], pool.kept_positions(self.memory)
        return {
            "similarities_": similarities[:, stays_compared][:, :, stays_compared],
            "pool_": pool.select(positions),
            "precomputed_": _concatenate_precomputed(self.precomputed_, precomputed, positions),
        }

    # --- reading ------------------------------------------------------------------------------------------------------

    def _validate_sequences(self, X: Any) -> Sequences:
        if isinstance(X, Sequences):
            return super()._validate_sequences(X)
        X = validate_estimator_input(X)
        kernels = (getattr(self, "kernel_", None), None if self.kernel is None else as_kernel(self.kernel))
        compares_sequences = any(kernel is not None and kernel.domain == "sequences" for kernel in kernels)
        is_vectors = not compares_sequences and getattr(X, "ndim", 0) == 2 and len(X)
        return super()._validate_sequences(to_sequences(validate_sample(X, "X")) if is_vectors else X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False  # of vectors, the only input that scikit-learn checks
        return tags

    def _takes_missing(self) -> bool:
        kernel = getattr(self, "kernel_", None) or self._choose_kernel()
        return isinstance(kernel, Kernel) and kernel._takes_missing()

    @with_object_lock
    def save(self, folder: str | Path) -> None:
        """Write the monitor to a folder, for `timelike.load_model`: it continues from the same state, to the last bit.

        The reference of the constructor is stored once, as part of the pool.
        """
        reference, self.reference = self.reference, None
        try:
            super().save(folder)
        finally:
            self.reference = reference

    def _refuse_to_save(self) -> None:
        super()._refuse_to_save()
        if isinstance(self.kernel_, FunctionKernel):
            raise TypeError("kernel is a custom function, which cannot be saved: use a kernel of the library")

    # --- answers ------------------------------------------------------------------------------------------------------

    @property
    @with_object_lock
    def drifted(self) -> bool:
        """Whether an alarm has been raised."""
        self._ensure_fitted()
        return self._alarm_position() is not None

    @with_object_lock
    def typicality(self, X: Any) -> NDArray[np.float64]:
        """How typical each item is: its mean similarity to the items of the reference, (item,).

        >>> import numpy as np
        >>> import timelike as tl
        >>> drift = tl.distributions.Drift(random_state=0).fit(np.random.default_rng(0).standard_normal((50, 2)))
        >>> near, far = drift.typicality(np.array([[0.0, 0.0], [5.0, 5.0]]))
        >>> bool(near > far)
        True
        """
        self._ensure_fitted()
        items = self.kernel_._precompute_items(self._validate_predict_input(X), "X")
        reference = self.precomputed_[np.flatnonzero(self.pool_.batch == 0)]
        return np.asarray(self.kernel_._kernel_matrix(items, reference).mean(axis=1))

    @with_object_lock
    def report(self, *, n_permutations: int = 999) -> DriftReport:
        """What has changed, by how much, in which sequences and channels, and since when: text, JSON and HTML."""
        self._ensure_fitted()
        return build_report(self, check_int(n_permutations, "n_permutations", 19, MAX_RESAMPLES))

    @with_object_lock
    def stream(self, window: int, *, batch_size: int = 10) -> DriftStream:
        """A stream that takes one sample at a time, cuts windows without overlap, and tests every `batch_size` of them.

        The reference must not have groups, because windows have none.

        >>> import numpy as np
        >>> import timelike as tl
        >>> rng = np.random.default_rng(0)
        >>> drift = tl.distributions.Drift(random_state=0).fit(rng.standard_normal((60, 20, 1)))
        >>> stream = drift.stream(window=20, batch_size=10)
        >>> looks = [stream.push(sample) for sample in 3 * rng.standard_normal(600)]
        >>> [look.drifted for look in looks if look is not None]
        [True, True, True]
        """
        self._ensure_fitted()
        vectors, length = self.kernel_.domain == "vectors", int(self.pool_.items.lengths[0])
        if vectors and check_int(window, "window", 1) != length:
            raise ValueError(
                f"window={window}: a kernel of vectors compares windows as long as the reference, {length}"
            )
        return DriftStream(self, window, batch_size)


class _Batch(NamedTuple):
    """The compared items of a batch, without their metadata, and notes about them."""

    items: Sequences
    places: NDArray[np.int64]
    """The position of each item in the batch."""
    names: NDArray[np.str_]
    unit: NDArray[np.int64]
    seen_groups: list[Any]
    """All groups so far, those of this batch included."""
    notes: tuple[str, ...]


def _sample_units(unit: NDArray[np.int64], most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Positions of the items of at most `most` units, drawn at random."""
    if unit.max() < most:
        return np.arange(len(unit))
    return np.flatnonzero(np.isin(unit, rng.permutation(unit.max() + 1)[:most]))


def _concatenate_precomputed(before: Any, behind: Any, positions: NDArray[np.int64]) -> Any:
    """The precomputed items of `before` and `behind`, concatenated, at some positions."""
    from ...sequences.concatenation import concatenate
    from ..kernels.algebra import PrecomputedParts

    if isinstance(before, PrecomputedParts):
        return PrecomputedParts(
            [_concatenate_precomputed(a, b, positions) for a, b in zip(before.parts, behind.parts, strict=True)]
        )
    if isinstance(before, Sequences):
        return concatenate([before, behind], ["reference", "batch"])[positions]
    return np.concatenate([before, behind])[positions]

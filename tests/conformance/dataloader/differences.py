"""The differences between Forebay's DataLoader and torch's: cases by name, or by
group."""

from typing import NamedTuple, Optional, Tuple, Type, Union

Raises = Union[Type[BaseException], Tuple[Type[BaseException], ...]]


class Difference(NamedTuple):
    """A case whose result differs from that on torch's DataLoader.

    Attributes:
      reason: the reason, a row of client/datasets_in_python.md.
      raises: the exceptions with which the case fails; None: the case fails or passes
        depending on the schedule, and is not run on Forebay's DataLoader.
    """

    reason: str
    raises: Optional[Raises] = AssertionError


# Modules whose cases also run on Forebay's DataLoader.
RUNNING = ("batching", "classes", "custom_collate", "datapipes", "datasets",
           "default_collate", "iterables", "persistent", "processes", "samplers",
           "tensors", "workers")

_OWN_ORDER = "The order of shuffle=True and RandomSampler is Forebay's own, the " \
    "same on every machine."
_SCHEDULED = "The daemon says which worker makes which sample."
_REPLACED = "A worker that dies is replaced. If three workers die while they make " \
    "the same sample, that is an error."

DIFFERENT = {
    "batching::test_an_empty_dataset_in_random_order_is_as_its_sampler_says":
        Difference("An empty dataset in random order gives an empty epoch.",
                   BaseException),
    "datapipes::test_shuffle_adds_no_shuffler":
        Difference("`shuffle=True` adds the shuffler to a DataPipe without one that "
                   "torch announces, and then forgets."),
    "datasets::test_a_text_is_a_dataset":
        Difference("A str given as the dataset is a path or a URI.", Exception),
    "datasets::test_a_tensor_dataset_gives_lists_of_tensors":
        Difference("A TensorDataset gives lists whose items have names."),
    "default_collate::test_errors[backwards]":
        Difference("Arrays with negative strides are samples like others.",
                   BaseException),
    "processes::test_a_worker_that_leaves_is_an_error": Difference(_REPLACED),
    "processes::test_too_many_workers_are_told":
        Difference("Workers are forked when there is work for them, and a large "
                   "`num_workers` gives no warning.", BaseException),
    "samplers::test_indices_are_drawn_a_bounded_number_ahead":
        Difference("The client asks a sampler without numbers or length for 64 "
                   "batches in advance."),
    "samplers::test_the_order_is_torchs_for_the_same_seed":
        Difference(_OWN_ORDER),
    "samplers::test_a_random_sampler_with_its_own_generator":
        Difference(_OWN_ORDER),
    "tensors::test_a_tensor_twice_in_a_batch_shares_its_memory":
        Difference("Two tensors of one memory come out with memory of their own."),
    "workers::test_a_batch_is_made_by_one_worker": Difference(_SCHEDULED, None),
    "workers::test_batches_go_round_the_workers": Difference(_SCHEDULED, None),
}


def of(name):
    """Returns the Difference of the case `name`, or None if there is none."""
    return DIFFERENT.get(name)

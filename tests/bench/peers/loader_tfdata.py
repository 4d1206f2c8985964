"""tf.data, as TensorFlow's performance guide recommends: it chooses the parallelism and
the prefetching itself, and decodes JPEGs only where the crop lies.

With `service`, one server of tf.data makes the batches for all jobs. It keeps a window
of them for jobs that come later (tf.data's cross-trainer cache).
"""

import math
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf  # noqa: E402
from photographs import AREA, PIXEL_MEAN, PIXEL_STD, RATIO, SIZE, listed  # noqa: E402


def _load(path, label):
    data = tf.io.read_file(path)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.image.extract_jpeg_shape(data), tf.zeros([1, 0, 4]), area_range=AREA,
        aspect_ratio_range=RATIO, max_attempts=10, min_object_covered=0.0,
        use_image_if_no_bounding_boxes=True)
    image = tf.image.decode_and_crop_jpeg(
        data, tf.concat([begin[:2], size[:2]], 0), channels=3)
    image = tf.image.random_flip_left_right(tf.image.resize(image, [SIZE, SIZE]))
    return (image - PIXEL_MEAN) / PIXEL_STD, label


def _dataset(uri, batch_size, repeated):
    paths, labels = listed(uri)
    photographs = tf.data.Dataset.from_tensor_slices((paths, labels)).shuffle(
        len(paths))
    if repeated:
        photographs = photographs.repeat()
    options = tf.data.Options()
    options.deterministic = False
    return photographs.map(_load, num_parallel_calls=tf.data.AUTOTUNE).batch(
        batch_size, num_parallel_calls=tf.data.AUTOTUNE).with_options(options)


class _Epochs:
    """Yields the epochs of a dataset, without end."""

    def __init__(self, dataset, batches):
        self._dataset, self._batches = iter(dataset), batches

    def __iter__(self):
        for _ in range(self._batches):
            yield next(self._dataset)


def loader(uri, batch_size, job, service=None, **_):
    """Returns an iterable of epochs of (images, labels)."""
    if service is None:
        return _dataset(uri, batch_size, False).prefetch(tf.data.AUTOTUNE)
    of = tf.data.experimental.service
    dataset = _dataset(uri, batch_size, True).apply(of.distribute(
        processing_mode=of.ShardingPolicy.OFF, service=service, job_name="peers",
        compression=None,
        cross_trainer_cache=of.CrossTrainerCache(trainer_id=f"job {job}")))
    return _Epochs(dataset.prefetch(tf.data.AUTOTUNE),
                   math.ceil(len(listed(uri)[0]) / batch_size))

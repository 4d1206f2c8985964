"""tf.train.Example for Python without TensorFlow. The messages are the same
(tensorflow/core/example/example.proto and feature.proto); protobuf's own code handles
them."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto


def _message(file, name, *fields):
    message = file.message_type.add(name=name)
    for number, (field, label, kind, type_name) in enumerate(fields, 1):
        message.field.add(name=field, number=number, label=label, type=kind,
                          type_name=type_name)
    return message


def _make_file():
    file = descriptor_pb2.FileDescriptorProto(
        name="example.proto", package="formats", syntax="proto3")
    one, many = _FIELD.LABEL_OPTIONAL, _FIELD.LABEL_REPEATED
    message = _FIELD.TYPE_MESSAGE
    _message(file, "BytesList", ("value", many, _FIELD.TYPE_BYTES, None))
    _message(file, "FloatList", ("value", many, _FIELD.TYPE_FLOAT, None))
    _message(file, "Int64List", ("value", many, _FIELD.TYPE_INT64, None))
    feature = _message(
        file, "Feature", ("bytes_list", one, message, ".formats.BytesList"),
        ("float_list", one, message, ".formats.FloatList"),
        ("int64_list", one, message, ".formats.Int64List"))
    feature.oneof_decl.add(name="kind")
    for field in feature.field:
        field.oneof_index = 0
    features = _message(
        file, "Features", ("feature", many, message, ".formats.Features.FeatureEntry"))
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=one, type=_FIELD.TYPE_STRING)
    entry.field.add(name="value", number=2, label=one, type=message,
                    type_name=".formats.Feature")
    _message(file, "Example", ("features", one, message, ".formats.Features"))
    return file


def _make_class():
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_make_file())
    return message_factory.MessageFactory(pool).GetPrototype(
        pool.FindMessageTypeByName("formats.Example"))


Example = _make_class()


def example(photo, label):
    """Returns the bytes of an Example with the features `image` and `label`."""
    made = Example()
    made.features.feature["image"].bytes_list.value.append(photo)
    made.features.feature["label"].int64_list.value.append(label)
    return made.SerializeToString()

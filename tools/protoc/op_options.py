"""The options of proto/op_options.proto, by messages of ops and by their fields."""

from google.protobuf import descriptor_pool, message_factory

PACKAGE = "forebay.proto"


class OpOptions:
    """Reads the options of messages and fields."""

    def __init__(self, files):
        """Takes the descriptors of all files."""
        self._pool = descriptor_pool.DescriptorPool()
        for file in files:
            self._pool.Add(file)
        self._factory = message_factory.MessageFactory(self._pool)
        domains = self._pool.FindEnumTypeByName(f"{PACKAGE}.OpTraits.Domain")
        self._domains = domains.values_by_number

    def _option(self, options, name):
        """Returns the option `name` of a message's or field's options; None if it is
        not set."""
        # A class of this pool knows the extensions, which descriptor_pb2's does not.
        of_pool = self._factory.GetPrototype(
            self._pool.FindMessageTypeByName(options.DESCRIPTOR.full_name))
        extension = self._pool.FindExtensionByName(f"{PACKAGE}.{name}")
        parsed = of_pool.FromString(options.SerializeToString())
        return parsed.Extensions[extension] if parsed.HasExtension(extension) else None

    def traits(self, message):
        """Returns the OpTraits of an op's message; None if there are none."""
        return self._option(message.options, "op")

    def domains(self, message):
        """Returns the names of an op's domains.

        Raises:
          ValueError: the op's options name no domain.
        """
        traits = self.traits(message)
        if traits is None or not traits.domain:
            raise ValueError(f"{message.name}: its option (op) names no domain")
        return {self._domains[number].name for number in traits.domain}

    def bounds(self, field):
        """Returns the Bounds of a field; None if there are none."""
        return self._option(field.options, "bounds")

    def parameter(self, field):
        """Returns the name of the parameter that sets a field."""
        return self._option(field.options, "parameter") or field.name

    def default_argument(self, field):
        """Returns the text of a field's default argument; None if there is none."""
        return self._option(field.options, "default_argument")

    def enum_names(self, field):
        """Returns the names of an enum's values, without that of 0, which stands for
        an unset field."""
        enum = self._pool.FindEnumTypeByName(field.type_name.lstrip("."))
        return [value.name for value in enum.values if value.number != 0]


def messages_of(files):
    """Returns the messages of the ops' package by their names."""
    return {message.name: message for file in files if file.package == PACKAGE
            for message in file.message_type}


def kinds_of(messages):
    """Returns pairs of a field of Op and the field's message, in the order of Op."""
    return [(field, messages[field.type_name.rpartition(".")[2]])
            for field in messages["Op"].field]

"""A C++ header that lists the ops of one domain, and calls the function of each."""

from google.protobuf import descriptor_pool, message_factory

_PACKAGE = "forebay.proto"

_HEADER = """\
// The ops of domain {domain}, as tools/protoc lists them from proto/job.proto.
#ifndef {guard}
#define {guard}

#include "proto/job.pb.h"
#include "{header}"

namespace {namespace} {{

// There is a function for each kind of op. The file that has the op's code
// defines the function.
{declarations}

// Calls the function for the kind of `op`. Returns `other` if the kind is not of
// this domain.
inline {result} {function}Any(const proto::Op& op, {argument}, {result} other) {{
  switch (op.kind_case()) {{
{cases}
    default:
      return other;
  }}
}}

}}  // namespace {namespace}

#endif  // {guard}
"""


def _domains(files):
    """Returns a function from a message to the domains that its options name."""
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.Add(file)
    options_type = pool.FindMessageTypeByName("google.protobuf.MessageOptions")
    options = message_factory.MessageFactory(pool).GetPrototype(options_type)
    extension = pool.FindExtensionByName(f"{_PACKAGE}.op")
    names = pool.FindEnumTypeByName(f"{_PACKAGE}.OpTraits.Domain").values_by_number

    def domains(message):
        traits = options.FromString(
            message.options.SerializeToString()).Extensions[extension]
        return {names[number].name for number in traits.domain}
    return domains


def _camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def header(files, path, domain, header, namespace, result, function, argument):
    """Returns the header at `path` of the ops of `domain`.

    Args:
      files: descriptors of all files.
      header: the header that declares what the functions use.
      result, function, argument: the functions' result, their name, and their parameter
        behind the op, with its type and its name.

    Raises:
      ValueError: an op's options name no domain.
    """
    messages = {m.name: m for file in files if file.package == _PACKAGE
                for m in file.message_type}
    domains = _domains(files)
    value = argument.split()[-1].lstrip("&*")
    declarations, cases = [], []
    for field in messages["Op"].field:
        kind = field.type_name.rpartition(".")[2]
        of_kind = domains(messages[kind])
        if not of_kind:
            raise ValueError(f"{kind}: its option (op) names no domain")
        if domain not in of_kind:
            continue
        declarations.append(
            f"{result} {function}(const proto::{kind}& op, {argument});")
        cases += [f"    case proto::Op::k{_camel(field.name)}:",
                  f"      return {function}(op.{field.name}(), {value});"]
    guard = "FOREBAY_" + path.upper().replace("/", "_").replace(".", "_") + "_"
    return _HEADER.format(
        guard=guard, domain=domain, header=header, namespace=namespace, result=result,
        function=function, argument=argument, declarations="\n".join(declarations),
        cases="\n".join(cases))

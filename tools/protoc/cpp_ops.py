"""A C++ header that lists the ops of one domain, and calls the function of each."""

from op_options import OpOptions, kinds_of, messages_of

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
    options = OpOptions(files)
    value = argument.split()[-1].lstrip("&*")
    declarations, cases = [], []
    for field, message in kinds_of(messages_of(files)):
        if domain not in options.domains(message):
            continue
        declarations.append(
            f"{result} {function}(const proto::{message.name}& op, {argument});")
        cases += [f"    case proto::Op::k{_camel(field.name)}:",
                  f"      return {function}(op.{field.name}(), {value});"]
    guard = "FOREBAY_" + path.upper().replace("/", "_").replace(".", "_") + "_"
    return _HEADER.format(
        guard=guard, domain=domain, header=header, namespace=namespace, result=result,
        function=function, argument=argument, declarations="\n".join(declarations),
        cases="\n".join(cases))

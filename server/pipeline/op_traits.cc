// Reads the options of ops by protobuf's reflection.

#include "server/pipeline/op_traits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::pipeline {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Returns the field of an op's kind; null if the kind is not known.
const FieldDescriptor* KindOf(const proto::Op& op) {
  return op.GetReflection()->GetOneofFieldDescriptor(
      op, proto::Op::GetDescriptor()->oneof_decl(0));
}

std::string NameOf(const proto::Op& op) {
  const FieldDescriptor* const kind = KindOf(op);
  if (kind == nullptr) return "unknown";
  const std::string& title = TraitsOf(op).title();
  return title.empty() ? kind->message_type()->name() : title;
}

// Returns element `index` of a field of numbers; `index` is -1 if the field is
// not repeated.
double NumberOf(const Message& message, const FieldDescriptor* field,
                int index) {
  const auto& reflection = *message.GetReflection();
  const auto get = [&](auto one, auto repeated) {
    return static_cast<double>(
        index < 0 ? (reflection.*one)(message, field)
                  : (reflection.*repeated)(message, field, index));
  };
  using R = google::protobuf::Reflection;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return get(&R::GetUInt32, &R::GetRepeatedUInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return get(&R::GetUInt64, &R::GetRepeatedUInt64);
    case FieldDescriptor::CPPTYPE_INT32:
      return get(&R::GetInt32, &R::GetRepeatedInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return get(&R::GetInt64, &R::GetRepeatedInt64);
    case FieldDescriptor::CPPTYPE_BOOL:
      return get(&R::GetBool, &R::GetRepeatedBool);
    default:
      FOREBAY_CHECK(field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE);
      return get(&R::GetDouble, &R::GetRepeatedDouble);
  }
}

// Checks a number. Integers are shown in full.
absl::Status CheckNumber(double value, const proto::Bounds& bounds,
                         const FieldDescriptor* field, absl::string_view name) {
  if (value >= bounds.min() && value <= bounds.max()) return absl::OkStatus();
  if (value == 0 && bounds.or_unset()) return absl::OkStatus();
  const auto shown = [&](double number) {
    return field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE
               ? absl::StrCat(number)
               : absl::StrFormat("%.0f", number);
  };
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", shown(value),
                                                 ", not ", shown(bounds.min()),
                                                 " to ", shown(bounds.max())));
}

// Returns the parameter of users' classes that sets a field.
const std::string& ParameterOf(const FieldDescriptor& field) {
  const std::string& name = field.options().GetExtension(proto::parameter);
  return name.empty() ? field.name() : name;
}

absl::Status CheckEnum(const Message& message, const FieldDescriptor* field) {
  const int value = message.GetReflection()->GetEnumValue(message, field);
  const auto& type = *field->enum_type();
  if (type.FindValueByNumber(value) != nullptr) return absl::OkStatus();
  std::string known;  // the names of all values but 0, which stands for unset
  for (int i = 1; i < type.value_count(); ++i)
    absl::StrAppend(&known, i == 1 ? "" : ", ", type.value(i)->name());
  return absl::InvalidArgumentError(
      absl::StrCat(ParameterOf(*field), " is ", value,
                   ", which this daemon does not know: it knows ", known));
}

absl::Status CheckMessage(const Message& message, const FieldDescriptor* outer);

// Checks a field. `outer` is the field that has the bounds and the name of all
// numbers in `message`; null if each number has its own.
absl::Status CheckField(const Message& message, const FieldDescriptor* field,
                        const FieldDescriptor* outer) {
  const FieldDescriptor* const bounded =
      field->options().HasExtension(proto::bounds) ? field : outer;
  const auto& reflection = *message.GetReflection();
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    if (field->is_repeated()) {
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        FOREBAY_RETURN_IF_ERROR(CheckMessage(
            reflection.GetRepeatedMessage(message, field, i), bounded));
      }
      return absl::OkStatus();
    }
    if (!reflection.HasField(message, field)) return absl::OkStatus();
    return CheckMessage(reflection.GetMessage(message, field), bounded);
  }
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM)
    return CheckEnum(message, field);
  if (bounded == nullptr) return absl::OkStatus();
  const proto::Bounds& bounds = bounded->options().GetExtension(proto::bounds);
  const std::string& name = ParameterOf(*bounded);
  if (field->is_repeated()) {
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      FOREBAY_RETURN_IF_ERROR(
          CheckNumber(NumberOf(message, field, i), bounds, field, name));
    }
    return absl::OkStatus();
  }
  // A field that says whether it is set has its bounds only if it is.
  if (field->has_presence() && !reflection.HasField(message, field))
    return absl::OkStatus();
  return CheckNumber(NumberOf(message, field, -1), bounds, field, name);
}

absl::Status CheckMessage(const Message& message,
                          const FieldDescriptor* outer) {
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    FOREBAY_RETURN_IF_ERROR(CheckField(message, type.field(i), outer));
  }
  return absl::OkStatus();
}

}  // namespace

const proto::OpTraits& TraitsOf(const proto::Op& op) {
  const FieldDescriptor* const kind = KindOf(op);
  if (kind == nullptr) return proto::OpTraits::default_instance();
  return kind->message_type()->options().GetExtension(proto::op);
}

bool HasDomain(const proto::Op& op, proto::OpTraits::Domain domain) {
  const auto& domains = TraitsOf(op).domain();
  return std::find(domains.begin(), domains.end(), domain) != domains.end();
}

std::string OpTitle(int index, const proto::Op& op) {
  return absl::StrCat("transform ", index + 1, " (", NameOf(op), ")");
}

absl::Status CheckFields(const proto::Op& op) {
  const FieldDescriptor* const kind = KindOf(op);
  if (kind == nullptr) return absl::OkStatus();
  return CheckMessage(op.GetReflection()->GetMessage(op, kind), nullptr);
}

absl::Status CheckNothingRandom(const proto::PipelineSpec& spec) {
  for (int i = 0; i < spec.ops_size(); ++i) {
    if (!TraitsOf(spec.ops(i)).draws()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "op ", i + 1, ", ", NameOf(spec.ops(i)),
        ": draws at random, which is for loaders and the trainer itself"));
  }
  return absl::OkStatus();
}

}  // namespace forebay::pipeline

#include "server/dataset/tfrecord/example.h"

#include <cstring>
#include <optional>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::dataset::tfrecord {
namespace {

using Bytes = absl::Span<const std::uint8_t>;
using protozero::pbf_reader;
using protozero::pbf_wire_type;

// The fields' numbers in the .proto files.
constexpr std::uint32_t kFeatures = 1;      // of Example; context of the other
constexpr std::uint32_t kFeatureLists = 2;  // of SequenceExample
constexpr std::uint32_t kEntries = 1;       // of Features and FeatureLists
constexpr std::uint32_t kKey = 1;           // of an entry
constexpr std::uint32_t kValue = 2;         // of an entry
constexpr std::uint32_t kSteps = 1;         // of FeatureList
constexpr std::uint32_t kBytesList = 1;     // of Feature
constexpr std::uint32_t kFloatList = 2;     // of Feature
constexpr std::uint32_t kInt64List = 3;     // of Feature
constexpr std::uint32_t kValues = 1;        // of each list

Bytes ToBytes(const protozero::data_view& view) {
  return {reinterpret_cast<const std::uint8_t*>(view.data()), view.size()};
}

pbf_reader ReaderOf(Bytes bytes) {
  return pbf_reader(protozero::data_view(
      reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// Goes to the next field with these numbers, over all others.
bool NextMessage(pbf_reader& reader, std::uint32_t number) {
  while (reader.next()) {
    if (reader.tag() == number &&
        reader.wire_type() == pbf_wire_type::length_delimited)
      return true;
    reader.skip();
  }
  return false;
}

absl::Status Malformed() {
  return absl::DataLossError("is no tf.train.Example, or damaged");
}

// Calls `each` for the entries of a map.
void ReadMap(Bytes map, bool is_list,
             const std::function<void(const Feature&)>& each) {
  pbf_reader reader = ReaderOf(map);
  while (NextMessage(reader, kEntries)) {
    pbf_reader entry = reader.get_message();
    Feature feature{.name = {}, .is_list = is_list, .message = {}};
    while (entry.next()) {
      const bool is_message =
          entry.wire_type() == pbf_wire_type::length_delimited;
      if (entry.tag() == kKey && is_message) {
        const protozero::data_view name = entry.get_view();
        feature.name = {name.data(), name.size()};
      } else if (entry.tag() == kValue && is_message) {
        feature.message = ToBytes(entry.get_view());
      } else {
        entry.skip();
      }
    }
    each(feature);
  }
}

std::uint64_t CountVarints(Bytes run) {
  std::uint64_t count = 0;
  const char* at = reinterpret_cast<const char*>(run.data());
  const char* const end = at + run.size();
  for (; at != end; ++count) protozero::skip_varint(&at, end);
  return count;
}

}  // namespace

std::string_view NameOf(ValueKind kind) {
  switch (kind) {
    case ValueKind::kBytes:
      return "bytes";
    case ValueKind::kFloat:
      return "float";
    case ValueKind::kInt64:
      return "int64";
    case ValueKind::kNone:
      break;
  }
  return "nothing";
}

absl::Status ReadFeatures(Bytes example,
                          const std::function<void(const Feature&)>& each) {
  try {
    pbf_reader reader = ReaderOf(example);
    while (reader.next()) {
      const bool is_message =
          reader.wire_type() == pbf_wire_type::length_delimited;
      if (is_message && reader.tag() == kFeatures) {
        ReadMap(ToBytes(reader.get_view()), /*is_list=*/false, each);
      } else if (is_message && reader.tag() == kFeatureLists) {
        ReadMap(ToBytes(reader.get_view()), /*is_list=*/true, each);
      } else {
        reader.skip();
      }
    }
  } catch (const protozero::exception&) {
    return Malformed();
  }
  return absl::OkStatus();
}

absl::StatusOr<FeatureValues> FeatureValues::Read(const Feature& feature) {
  FeatureValues values;
  try {
    if (!feature.is_list) {
      FOREBAY_RETURN_IF_ERROR(values.AddFeature(feature.message));
      return values;
    }
    pbf_reader steps = ReaderOf(feature.message);
    std::optional<std::uint64_t> each;
    while (NextMessage(steps, kSteps)) {
      const std::uint64_t before = values.count_;
      FOREBAY_RETURN_IF_ERROR(values.AddFeature(ToBytes(steps.get_view())));
      const std::uint64_t more = values.count_ - before;
      if (more != each.value_or(more)) each = 0;
      if (!each.has_value()) each = more;
    }
    values.count_each_ = each.value_or(0);
  } catch (const protozero::exception&) {
    return Malformed();
  }
  return values;
}

// A Feature holds one list. Of several, protocol buffers have the last ones of
// one kind, together.
absl::Status FeatureValues::AddFeature(Bytes message) {
  std::vector<Bytes> lists;
  std::uint32_t number = 0;
  pbf_reader reader = ReaderOf(message);
  while (reader.next()) {
    if (reader.tag() < kBytesList || reader.tag() > kInt64List ||
        reader.wire_type() != pbf_wire_type::length_delimited) {
      reader.skip();
      continue;
    }
    if (reader.tag() != number) lists.clear();
    number = reader.tag();
    lists.push_back(ToBytes(reader.get_view()));
  }
  if (lists.empty()) return absl::OkStatus();
  const ValueKind kind = number == kBytesList   ? ValueKind::kBytes
                         : number == kFloatList ? ValueKind::kFloat
                                                : ValueKind::kInt64;
  if (kind_ != ValueKind::kNone && kind_ != kind) {
    return absl::InvalidArgumentError(
        absl::StrCat("has steps of ", std::string(NameOf(kind_)), " and of ",
                     std::string(NameOf(kind))));
  }
  kind_ = kind;
  for (const Bytes list : lists)
    kind == ValueKind::kBytes ? AddBytes(list) : AddNumbers(list);
  return absl::OkStatus();
}

void FeatureValues::AddBytes(Bytes list) {
  pbf_reader reader = ReaderOf(list);
  while (NextMessage(reader, kValues)) {
    last_bytes_ = ToBytes(reader.get_view());
    ++count_;
  }
}

void FeatureValues::AddNumbers(Bytes list) {
  const pbf_wire_type single = kind_ == ValueKind::kFloat
                                   ? pbf_wire_type::fixed32
                                   : pbf_wire_type::varint;
  pbf_reader reader = ReaderOf(list);
  while (reader.next()) {
    if (reader.tag() != kValues) {
      reader.skip();
    } else if (reader.wire_type() == pbf_wire_type::length_delimited) {
      const Bytes run = ToBytes(reader.get_view());
      if (kind_ == ValueKind::kFloat && run.size() % sizeof(float) != 0)
        throw protozero::invalid_length_exception();
      count_ += kind_ == ValueKind::kFloat ? run.size() / sizeof(float)
                                           : CountVarints(run);
      runs_.push_back(run);
    } else if (reader.wire_type() == single) {
      const auto* const begin =
          reinterpret_cast<const std::uint8_t*>(reader.data().data());
      reader.skip();
      const auto* const end =
          reinterpret_cast<const std::uint8_t*>(reader.data().data());
      runs_.emplace_back(begin, static_cast<std::size_t>(end - begin));
      ++count_;
    } else {
      reader.skip();
    }
  }
}

std::int64_t FeatureValues::integer() const {
  FOREBAY_CHECK(kind_ == ValueKind::kInt64 && count_ == 1);
  std::int64_t number = 0;
  CopyNumbers({reinterpret_cast<std::uint8_t*>(&number), sizeof(number)});
  return number;
}

std::uint64_t FeatureValues::number_bytes() const {
  return count_ *
         (kind_ == ValueKind::kFloat ? sizeof(float) : sizeof(std::int64_t));
}

void FeatureValues::CopyNumbers(absl::Span<std::uint8_t> out) const {
  FOREBAY_CHECK(out.size() == number_bytes());
  std::uint8_t* to = out.data();
  for (const Bytes run : runs_) {
    if (kind_ == ValueKind::kFloat) {
      if (!run.empty()) std::memcpy(to, run.data(), run.size());
      to += run.size();
      continue;
    }
    const char* at = reinterpret_cast<const char*>(run.data());
    const char* const end = at + run.size();
    while (at != end) {
      // Read has found that it is well formed.
      const std::uint64_t number = protozero::decode_varint(&at, end);
      std::memcpy(to, &number, sizeof(number));
      to += sizeof(number);
    }
  }
}

}  // namespace forebay::dataset::tfrecord

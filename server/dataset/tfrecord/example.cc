// An Example is a map from names to Features, and a Feature holds one list of
// values: BytesList, FloatList or Int64List. A SequenceExample has two maps.
// Its context is a map from names to Features, like an Example. The other map
// goes from names to FeatureLists. A FeatureList has a Feature for each step.
//
// protozero reads fields in place, and throws an exception if a length or a
// varint is malformed. The functions declared in example.h catch it. The first
// pass over a feature (FeatureValues::Read) parses every value, so later passes
// cannot throw.
//
// Encoders may pack the numbers of a list into one field, or write a field for
// each number, or mix both. ForEachRun treats a single number as a packed run
// of one number.
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

// The numbers of the fields in the .proto files.
constexpr std::uint32_t kFeatures = 1;  // of Example; SequenceExample.context
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

// Goes to the next field that has the number `number` and holds bytes. Returns
// false at the message's end.
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
  return absl::DataLossError("is not a tf.train.Example, or damaged");
}

// Calls `each` for each entry of Features or FeatureLists. A map's entry is a
// message with the fields `key` and `value`.
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

// Counts the varints in `run`. Throws if the last varint is truncated.
std::uint64_t CountVarints(Bytes run) {
  std::uint64_t count = 0;
  const char* at = reinterpret_cast<const char*>(run.data());
  const char* const end = at + run.size();
  for (; at != end; ++count) protozero::skip_varint(&at, end);
  return count;
}

// Returns the kind of the list whose field in Feature has the number `list`.
ValueKind KindOf(std::uint32_t list) {
  switch (list) {
    case kBytesList:
      return ValueKind::kBytes;
    case kFloatList:
      return ValueKind::kFloat;
    default:
      return ValueKind::kInt64;
  }
}

// Goes to the next list of values in a Feature. Returns false at the Feature's
// end.
bool NextList(pbf_reader& reader) {
  while (reader.next()) {
    if (reader.tag() >= kBytesList && reader.tag() <= kInt64List &&
        reader.wire_type() == pbf_wire_type::length_delimited)
      return true;
    reader.skip();
  }
  return false;
}

// Calls `each(kind, list)` for the lists of a Feature that have an effect. The
// lists are a oneof: a list of the same kind as the list before it is merged
// with that list. A list of another kind replaces all lists before it. So only
// the last run of lists of one kind has an effect.
template <typename Each>
void ForEachList(Bytes message, const Each& each) {
  std::uint32_t number = 0;
  Bytes last = message;  // the last run of lists of one kind
  pbf_reader reader = ReaderOf(message);
  for (Bytes rest = message; NextList(reader); rest = ToBytes(reader.data())) {
    if (reader.tag() != number) last = rest;
    number = reader.tag();
    reader.skip();
  }
  reader = ReaderOf(last);
  while (NextList(reader)) each(KindOf(number), ToBytes(reader.get_view()));
}

// Calls `each(message)` for a feature, or for each step of a feature list.
template <typename Each>
void ForEachFeature(const Feature& feature, const Each& each) {
  if (!feature.is_list) return each(feature.message);
  pbf_reader steps = ReaderOf(feature.message);
  while (NextMessage(steps, kSteps)) each(ToBytes(steps.get_view()));
}

// Calls `each(run)` for each field of a list of numbers. A field is a packed
// run of numbers, or a single number.
template <typename Each>
void ForEachRun(ValueKind kind, Bytes list, const Each& each) {
  const pbf_wire_type single = kind == ValueKind::kFloat
                                   ? pbf_wire_type::fixed32
                                   : pbf_wire_type::varint;
  pbf_reader reader = ReaderOf(list);
  while (reader.next()) {
    const bool is_value = reader.tag() == kValues;
    if (is_value && reader.wire_type() == pbf_wire_type::length_delimited) {
      each(ToBytes(reader.get_view()));
    } else if (is_value && reader.wire_type() == single) {
      const auto* const begin =
          reinterpret_cast<const std::uint8_t*>(reader.data().data());
      reader.skip();
      const auto* const end =
          reinterpret_cast<const std::uint8_t*>(reader.data().data());
      each(Bytes(begin, static_cast<std::size_t>(end - begin)));
    } else {
      reader.skip();
    }
  }
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
  FeatureValues values(feature);
  std::optional<std::uint64_t> each_step;
  std::optional<ValueKind> other;
  try {
    ForEachFeature(feature, [&](Bytes message) {
      const std::uint64_t before = values.count_;
      ForEachList(message, [&](ValueKind kind, Bytes list) {
        if (values.kind_ != ValueKind::kNone && values.kind_ != kind)
          other = kind;
        values.kind_ = kind;
        values.Count(list);
      });
      // each_step is the number of values that each step so far has. It is 0
      // once two steps have different numbers of values.
      const std::uint64_t more = values.count_ - before;
      if (more != each_step.value_or(more)) each_step = 0;
      if (!each_step.has_value()) each_step = more;
    });
  } catch (const protozero::exception&) {
    return Malformed();
  }
  if (other.has_value()) {
    return absl::InvalidArgumentError(
        "has steps of several types, which are not a list");
  }
  values.count_each_ = each_step.value_or(0);
  return values;
}

void FeatureValues::Count(Bytes list) {
  if (kind_ == ValueKind::kBytes) {
    pbf_reader reader = ReaderOf(list);
    while (NextMessage(reader, kValues)) {
      last_bytes_ = ToBytes(reader.get_view());
      ++count_;
    }
    return;
  }
  ForEachRun(kind_, list, [this](Bytes run) {
    if (kind_ == ValueKind::kInt64) {
      count_ += CountVarints(run);
      return;
    }
    if (run.size() % sizeof(float) != 0)
      throw protozero::invalid_length_exception();
    count_ += run.size() / sizeof(float);
  });
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

// Nothing throws here, since Read has parsed the same values.
void FeatureValues::CopyNumbers(absl::Span<std::uint8_t> out) const {
  FOREBAY_CHECK(out.size() == number_bytes());
  std::uint8_t* to = out.data();
  const auto copy = [&](Bytes run) {
    if (kind_ == ValueKind::kFloat) {
      if (!run.empty()) std::memcpy(to, run.data(), run.size());
      to += run.size();
      return;
    }
    const char* at = reinterpret_cast<const char*>(run.data());
    const char* const end = at + run.size();
    while (at != end) {
      const std::uint64_t number = protozero::decode_varint(&at, end);
      std::memcpy(to, &number, sizeof(number));
      to += sizeof(number);
    }
  };
  ForEachFeature(feature_, [&](Bytes message) {
    ForEachList(message, [&](ValueKind kind, Bytes list) {
      ForEachRun(kind, list, copy);
    });
  });
}

}  // namespace forebay::dataset::tfrecord

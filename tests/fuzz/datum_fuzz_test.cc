// Fuzzes the reader of Caffe's Datum. The reader gives an error, or content of
// the length that its type says. The content lies in the bytes or was made from
// them.

#include <cstddef>
#include <cstdint>
#include <variant>

#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/dataset/lmdb/datum.h"
#include "server/dataset/records/value_type.h"
#include "tests/fuzz/require.h"

namespace {

using forebay::dataset::BytesOf;
using forebay::dataset::ComputedBytes;
using forebay::dataset::FieldRange;
using forebay::dataset::ValueBuffers;
using forebay::dataset::lmdb::ContentOf;
using forebay::dataset::lmdb::Datum;
using forebay::dataset::lmdb::DescriptionOf;
using forebay::dataset::lmdb::GuessDatumType;
using forebay::dataset::lmdb::ParseDatum;
using forebay::dataset::lmdb::TypeOf;
using forebay::dataset::records::ParseValueType;
using forebay::dataset::records::TextOf;
using forebay::dataset::records::ValueType;
using forebay::fuzz::Require;
using forebay::fuzz::Touch;
using Bytes = absl::Span<const std::uint8_t>;

void CheckContent(const Datum& datum, const ValueType& type, Bytes bytes) {
  ValueBuffers buffers;
  const auto content = ContentOf(datum, type, bytes, &buffers);
  Require(content.ok());
  if (const auto* const range = std::get_if<FieldRange>(&*content)) {
    Require(range->offset <= bytes.size() &&
            range->length <= bytes.size() - range->offset);
    return;
  }
  const Bytes elements = std::get<ComputedBytes>(*content).bytes;
  Require(elements.size() == BytesOf(*type.array));
  Touch(elements.data(), elements.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const Bytes bytes(data, size);
  const auto datum = ParseDatum(bytes);
  const auto guess = GuessDatumType({&bytes, 1});
  if (!datum.ok()) {
    Require(!guess.has_value());
    return 0;
  }
  const auto type = TypeOf(*datum);
  Require(!guess.has_value() || guess == type);
  Require(!DescriptionOf(*datum).empty());
  if (!type.has_value()) return 0;
  const auto again = ParseValueType(TextOf(*type));
  Require(again.ok() && *again == *type);
  CheckContent(*datum, *type, bytes);
  ValueBuffers buffers;
  const ValueType other = {.kind = forebay::proto::FieldKind::kText};
  Require(!ContentOf(*datum, other, bytes, &buffers).ok());
  return 0;
}

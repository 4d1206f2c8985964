#include "server/dataset/records/whole_value.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace forebay::dataset::records {

Field FieldOf(std::string name, const ValueType& type, std::uint64_t longest) {
  if (type.array.has_value()) {
    const std::uint64_t one = BytesOf(*type.array);
    // A field has room for one row even if all its values are empty.
    longest =
        type.has_rows ? std::max(longest / one, std::uint64_t{1}) * one : one;
  }
  return {.name = std::move(name),
          .kind = type.kind,
          .longest = longest,
          .array = type.array,
          .has_rows = type.has_rows};
}

absl::StatusOr<FieldValue> WholeValue(const ValueType& type,
                                      absl::Span<const std::uint8_t> record,
                                      absl::Span<const std::uint8_t> payload,
                                      ValueBuffers* buffers) {
  if (!type.array.has_value()) {
    return FieldRange{
        static_cast<std::uint64_t>(payload.data() - record.data()),
        payload.size()};
  }
  const std::uint64_t one = BytesOf(*type.array);
  const bool fits =
      type.has_rows ? payload.size() % one == 0 : payload.size() == one;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has ", payload.size(), " bytes, which are not ", TextOf(type)));
  }
  // Elements in a record may not be aligned, so they are copied to aligned
  // memory.
  const absl::Span<std::uint8_t> copy = buffers->Add(payload.size());
  std::copy(payload.begin(), payload.end(), copy.begin());
  return ComputedBytes{copy};
}

}  // namespace forebay::dataset::records

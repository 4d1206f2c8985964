// Fuzzes the reader of TIFF files as arrays. The reader refuses the bytes, or
// gives an array of the type that the header says.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "server/pipeline/tiff_array.h"
#include "tests/fuzz/require.h"

namespace {

namespace pipeline = forebay::pipeline;
using forebay::fuzz::Require;

constexpr pipeline::WorkspaceLimits kLimits = {.max_pixels = 1 << 18,
                                               .scratch_bytes = 16 << 20};

bool IsExpected(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsUnimplemented(status) ||
         absl::IsResourceExhausted(status);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static auto* workspace = new pipeline::Workspace(kLimits);
  const absl::Span<const std::uint8_t> file(data, size);
  const auto type = pipeline::TypeOfTiff(file, kLimits);
  Require(type.ok() || IsExpected(type.status()));
  const auto array = pipeline::ReadTiff(file, *workspace);
  if (!array.ok()) {
    Require(IsExpected(array.status()));
    return 0;
  }
  Require(type.ok() && array->type.shape == type->shape &&
          array->items.size() == type->bytes);
  forebay::fuzz::Touch(array->items.data(), array->items.size());
  std::vector<std::uint8_t> out(type->bytes);
  Require(pipeline::ReadTiff(file, *workspace, absl::MakeSpan(out)).ok());
  return 0;
}

// Fuzzes the file that stores measured lengths. Reading the file gives an
// error, or usable sizes.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/types/span.h"
#include "server/dataset/index_file.h"
#include "server/length_scan/value_sizes_file.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/sealed_index.h"
#include "tests/unit/server/base/ample_budget.h"

namespace {

using forebay::fuzz::AreEqual;
using forebay::fuzz::ReadAsTheyAreAndSealed;
using forebay::fuzz::Require;
using forebay::length_scan::DecodeValueSizes;
using forebay::length_scan::EncodeValueSizes;
using forebay::length_scan::ValueSizes;

constexpr std::size_t kSamplesAt = 16;  // offset of the version, in bytes
constexpr std::size_t kCountAt = 32;

void Read(absl::Span<const std::uint8_t> bytes) {
  if (bytes.size() < kCountAt + sizeof(std::uint64_t)) return;
  forebay::dataset::Version samples;
  std::memcpy(samples.data(), bytes.data() + kSamplesAt, samples.size());
  std::uint64_t count = 0;
  std::memcpy(&count, bytes.data() + kCountAt, sizeof(count));
  forebay::base::WorkingMemory memory(forebay::base::AmpleBudget(), "sizes");
  forebay::dataset::IndexFileReader file(bytes);
  const auto decoded = DecodeValueSizes(file, samples, count, memory);
  if (!decoded.ok()) return;
  const ValueSizes& sizes = **decoded;
  Require(sizes.size() == count);
  for (std::uint64_t id = 0; id < count; ++id)
    Require(sizes.Of(id).size <= ValueSizes::kMostSize);
  const std::string again = EncodeValueSizes(sizes, samples);
  Require(AreEqual(bytes, again));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  ReadAsTheyAreAndSealed({data, size}, Read);
  return 0;
}

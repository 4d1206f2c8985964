// Fuzzes datasets that are composed of others, as a client describes and sends
// them. The daemon refuses a dataset, or each sample lies where its source
// says, and can be found again by its location.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "proto/job.pb.h"
#include "server/base/fd.h"
#include "server/base/memory_budget.h"
#include "server/dataset/canonical_spec.h"
#include "server/dataset/catalog.h"
#include "server/dataset/composed/composer.h"
#include "server/session/spec_inputs.h"
#include "server/storage/byte_source.h"
#include "server/storage/root_opener.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/text_message.h"

namespace {

namespace dataset = forebay::dataset;
namespace storage = forebay::storage;
using forebay::base::Fd;
using forebay::fuzz::Require;

constexpr std::uint64_t kBudget = std::uint64_t{8} << 20;
constexpr std::uint64_t kMaxSamples = 200;  // samples that are checked
constexpr std::size_t kMaxMemory = std::size_t{1} << 16;

class Nowhere final : public storage::RootOpener, public storage::ByteSource {
 public:
  absl::StatusOr<std::shared_ptr<const storage::Root>> Open(
      const std::string& uri, const std::stop_token&) override {
    return absl::NotFoundError(uri + ": is nowhere");
  }
  void Read(absl::Span<storage::ReadRequest> requests) override {
    for (storage::ReadRequest& request : requests)
      request.done(absl::NotFoundError("is nowhere"));
  }
};

// Returns sealed memory with the 64-bit numbers that `text` lists, or with N
// bytes if `text` is "=N".
Fd Memory(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  const bool is_size = text.starts_with('=');
  if (is_size) text.remove_prefix(1);
  for (const char* at = text.data(); at < text.data() + text.size();) {
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(at, text.data() + text.size(), number);
    if (parsed.ptr != at) numbers.push_back(number);
    at = parsed.ptr + 1;
  }
  Fd fd(memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (is_size) {
    const std::uint64_t bytes = numbers.empty() ? 0 : numbers[0] % kMaxMemory;
    Require(ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0);
  } else {
    const std::size_t bytes = numbers.size() * sizeof(numbers[0]);
    Require(write(fd.get(), numbers.data(), bytes) ==
            static_cast<ssize_t>(bytes));
  }
  Require(fcntl(fd.get(), F_ADD_SEALS,
                F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
  return fd;
}

void LookAt(const dataset::Dataset& whole) {
  Require(!whole.fields().empty() &&
          whole.fields().size() <= dataset::kMaxDatasetFields);
  const std::vector<const dataset::Dataset*> sources = whole.sources();
  std::vector<dataset::FieldValue> values(whole.fields().size());
  static_cast<void>(whole.uri());
  for (std::uint64_t i = 0; i < std::min(whole.size(), kMaxSamples); ++i) {
    // Takes samples from both ends in turn.
    const std::uint64_t id = i % 2 == 0 ? i / 2 : whole.size() - 1 - i / 2;
    const dataset::Sample sample = whole.At(id);
    Require(sample.length <= whole.largest_sample());
    Require(sample.offset <= sample.version.size &&
            sample.length <= sample.version.size - sample.offset);
    whole.ValuesOf(id, absl::MakeSpan(values));
    for (const dataset::FieldValue& value : values) {
      const auto* const part = std::get_if<dataset::FieldRange>(&value);
      Require(part == nullptr ||
              (part->offset <= sample.length &&
               part->length <= sample.length - part->offset));
    }
    static_cast<void>(whole.NameOf(id));
    const dataset::SourceSample origin = whole.SourceSampleOf(id);
    Require(origin.source < sources.size() &&
            origin.id < sources[origin.source]->size());
    std::vector<std::uint64_t> same;
    whole.FindSamples(origin, &same);
    Require(std::find(same.begin(), same.end(), id) != same.end());
    for (const std::uint64_t other : same) Require(other < whole.size());
  }
}

}  // namespace

// The input is a DatasetSpec as text and, after lines "--", the memory that a
// client sends with it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parts = forebay::fuzz::SplitParts(text);
  forebay::proto::DatasetSpec sent;
  if (!forebay::fuzz::ReadMessage(parts[0], &sent)) return 0;
  const auto canonical = dataset::CanonicalSpec(sent);
  if (!canonical.ok()) return 0;
  const forebay::proto::DatasetSpec& spec = *canonical;
  const auto again = dataset::CanonicalSpec(spec);
  Require(again.ok() && again->SerializeAsString() == spec.SerializeAsString());
  std::vector<Fd> memory;
  for (std::size_t i = 1; i < std::min<std::size_t>(parts.size(), 100); ++i) {
    memory.push_back(Memory(parts[i]));
  }
  Nowhere nowhere;
  const auto inputs = forebay::session::TakeDatasetInputs(
      spec, absl::MakeSpan(memory), &nowhere, {});
  if (!inputs.ok()) return 0;
  forebay::base::MemoryBudget budget(kBudget);
  dataset::Catalog catalog({.index_directory = "",
                            .scan_threads = 1,
                            .wall_clock = [] { return std::int64_t{0}; },
                            .budget = &budget});
  {
    dataset::composed::Composer composer(&catalog, &budget);
    std::vector<std::string> warnings;
    const auto opened = composer.Open(*inputs, spec, nowhere, &warnings, {});
    if (opened.ok()) LookAt(**opened);
  }
  Require(budget.used() == 0);
  return 0;
}

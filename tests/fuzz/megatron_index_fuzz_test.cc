// Fuzzes Megatron-LM's indexes. The ends of documents are in order and within
// the tokens, and each window lies within its document.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/tokens/token_index.h"
#include "server/dataset/tokens/token_scan.h"
#include "server/dataset/tokens/token_settings.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/fuzz/require.h"
#include "tests/unit/server/base/ample_budget.h"

namespace {

using forebay::base::AmpleBudget;
using forebay::base::WorkingMemory;
using forebay::dataset::tokens::ScanTokens;
using forebay::dataset::tokens::SettingsOf;
using forebay::dataset::tokens::TokenFile;
using forebay::dataset::tokens::TokenIndex;
using forebay::dataset::tokens::TokenSettings;
using forebay::fuzz::Require;
using forebay::storage::MemorySource;

// Returns the number of tokens of all sequences of an index, or 0 if `index` is
// not an index.
std::uint64_t TokensOf(absl::Span<const std::uint8_t> index) {
  constexpr std::size_t kHeader = 34;
  if (index.size() < kHeader) return 0;
  std::uint64_t tokens = 0;
  const std::size_t sequences = std::min<std::size_t>(
      index[18], (index.size() - kHeader) / sizeof(std::int32_t));
  for (std::size_t i = 0; i < sequences; ++i)
    tokens += index[kHeader + 4 * i] + 256 * (index[kHeader + 4 * i + 1] & 15);
  return tokens;
}

void CheckWindows(const TokenIndex& index, std::uint64_t bytes) {
  std::uint64_t end = 0;
  for (std::uint64_t id = 0; id < std::min<std::uint64_t>(index.size(), 5000);
       ++id) {
    const TokenIndex::Extent extent = index.ExtentOf(id);
    const std::uint64_t token_bytes = forebay::proto::SizeOf(index.dtype());
    Require(extent.file == 0 && extent.count > 0 &&
            extent.count <= index.longest() && extent.first >= end);
    Require(extent.offset == extent.first * token_bytes &&
            extent.offset + extent.count * token_bytes <= bytes);
    end = extent.first + 1;
  }
}

void Scan(const std::string& index, const std::string& data,
          const TokenSettings& settings) {
  MemorySource source;
  TokenFile file;
  file.data = {"a.bin", source.Put("a.bin", data)};
  file.index = {"a.idx", source.Put("a.idx", index)};
  WorkingMemory memory(AmpleBudget(), "an index");
  const auto found = ScanTokens({.source = &source,
                                 .root = source.root(),
                                 .settings = settings,
                                 .files_at_once = 1,
                                 .stop = {}},
                                {file}, memory);
  if (found.ok()) CheckWindows(**found, data.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string index(reinterpret_cast<const char*>(data), size);
  const std::uint64_t tokens = TokensOf({data, size});
  for (const std::uint64_t token_bytes : {1, 2, 4, 8}) {
    const std::string content(tokens * token_bytes, '\0');
    forebay::proto::Tokens spec;
    Scan(index, content, *SettingsOf(spec));
    spec.set_length(3);
    Scan(index, content, *SettingsOf(spec));
    spec.set_stride(2);
    spec.set_each_document(true);
    spec.set_keeps_tail(true);
    Scan(index, content, *SettingsOf(spec));
  }
  return 0;
}

// Fuzzes the readers of manifests. Reading gives rows or an error, and
// everything that a manifest tells of its samples can be looked up.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/dataset/manifest/manifest.h"
#include "tests/unit/server/base/ample_budget.h"

namespace {

using forebay::dataset::FieldValue;
using forebay::dataset::manifest::Manifest;
using forebay::dataset::manifest::ManifestOptions;
using forebay::dataset::manifest::TableFormat;

void Require(bool condition) {
  if (!condition) std::abort();
}

void Read(std::string_view text, TableFormat format) {
  forebay::base::WorkingMemory memory(forebay::base::AmpleBudget(), "a table");
  ManifestOptions options;
  options.memory = &memory;
  options.format = format;
  options.root = "/data";
  const auto read = Manifest::Read(
      text, {{"image", "label", "text"}, {"path", "class", "text"}}, options,
      [](const std::string& path)
          -> absl::StatusOr<forebay::storage::ObjectVersion> {
        Require(!path.empty() && path.find('\0') == path.npos &&
                path.front() != '/');
        return forebay::storage::ObjectVersion{path.size(), 0};
      });
  if (!read.ok()) return;
  const Manifest& manifest = **read;
  Require(manifest.size() > 0);
  std::vector<FieldValue> values(3);
  for (std::uint64_t id = 0; id < manifest.size(); ++id) {
    Require(manifest.At(id).length <= manifest.largest_file());
    manifest.ValuesOf(id, absl::MakeSpan(values));
    const std::int64_t label = std::get<std::int64_t>(values[1]);
    Require(manifest.classes().empty() ||
            static_cast<std::uint64_t>(label) < manifest.classes().size());
    if (const auto* text = std::get_if<std::string_view>(&values[2])) {
      Require(text->size() <= manifest.fields()[2].longest);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Read(text, TableFormat::kCsv);
  Read(text, TableFormat::kJsonLines);
  return 0;
}

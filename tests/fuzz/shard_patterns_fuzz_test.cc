// Fuzzes patterns of shards against a bucket's names. The listed shards are
// objects of the bucket, or the pattern names them literally.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "server/dataset/listing/remote_file_list.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/text_message.h"
#include "tests/unit/server/base/ample_budget.h"

namespace {

using forebay::fuzz::Require;
using forebay::storage::ListedObject;
using forebay::storage::ObjectVersion;

// The greatest length of a pattern in characters. Long patterns have a fuzz
// test of their own (brace_expansion). Here a thread asks for each listed name.
constexpr std::size_t kMaxBytes = 200;

class Bucket final : public forebay::storage::Root,
                     public forebay::storage::ObjectLister {
 public:
  explicit Bucket(std::vector<std::string> names) : names_(std::move(names)) {}

  const std::string& uri() const override { return uri_; }
  absl::Status List(const forebay::storage::Root&,
                    const std::function<void(ListedObject)>& each,
                    const std::stop_token&) override {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      each({.name = names_[i], .version = {.size = i + 1, .stamp = 1}});
    }
    return absl::OkStatus();
  }
  absl::StatusOr<ObjectVersion> Stat(const forebay::storage::Root&,
                                     std::string_view object,
                                     const std::stop_token&) override {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == object) return ObjectVersion{.size = i + 1, .stamp = 1};
    }
    return absl::NotFoundError("is not there");
  }
  bool Has(const std::string& name, const ObjectVersion& version) const {
    return version.size >= 1 && version.size <= names_.size() &&
           names_[version.size - 1] == name;
  }

 private:
  const std::string uri_ = "gs://bucket";
  const std::vector<std::string> names_;
};

}  // namespace

// The input is a pattern and, after a line "--", the bucket's names, one on
// each line.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parts = forebay::fuzz::SplitParts(text);
  if (parts.size() != 2 || parts[0].size() > kMaxBytes) return 0;
  // Leaves out ranges of numbers, because each of their names would be asked
  // for separately.
  if (parts[0].find("..") != text.npos) return 0;
  std::vector<std::string> names;
  std::string_view rest = parts[1];
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.empty()) names.emplace_back(line);
  }
  Bucket bucket(std::move(names));
  forebay::base::WorkingMemory memory(forebay::base::AmpleBudget(), "names");
  const auto shards = forebay::dataset::listing::ListRemoteFiles(
      bucket, bucket, {std::string(parts[0])}, memory, {});
  if (!shards.ok()) return 0;
  for (const auto& shard : *shards) {
    Require(bucket.Has(shard.name, shard.version));
  }
  return 0;
}

#include "server/dataset/shards/sample_grouping.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::dataset::shards {
namespace {

// Up to this number of parts, a linear search is faster than a hash set.
constexpr std::size_t kFewParts = 32;
// The most links that are recorded for a sample, and the longest name of such a
// link in bytes. These limits bound the memory of links, which is not counted.
constexpr std::size_t kMostLinks = 32;
constexpr std::size_t kLongestLink = 1024;

}  // namespace

absl::Status SampleGrouping::Add(const TarMember& member,
                                 std::vector<GroupedSample>* samples) {
  std::optional<SampleName> name = SplitSampleName(member.name);
  if (!name.has_value()) return absl::OkStatus();
  if (member.is_link) {
    if (member.name.size() <= kLongestLink) NoteLink(*std::move(name));
    return absl::OkStatus();
  }
  // Only consecutive members form a sample: webdataset reads a shard as a
  // stream.
  if (!current_.has_value() || current_->key != name->key) {
    Finish(samples);
    Begin(name->key);
  }
  std::string& extension = name->extension;
  if (extension == "__key__" || extension == "__url__") {
    return absl::InvalidArgumentError(
        absl::StrCat(shard_, ": sample ", current_->key, ": the extension ",
                     extension, " is reserved"));
  }
  auto& parts = current_->parts;
  // Each part lies in a vector, whose capacity may be twice its size. The
  // part's extension may also lie in a set.
  const std::uint64_t bytes =
      3 * sizeof(SamplePart) + 4 * base::HeapBytes(extension.size());
  FOREBAY_RETURN_IF_ERROR(memory_->Grow(bytes));
  counted_ += bytes;
  if (HasExtension(extension)) {
    return absl::InvalidArgumentError(
        absl::StrCat(shard_, ": sample ", current_->key,
                     ": two members have the extension ", extension));
  }
  if (extension == "__bad__" && member.length > 0) current_is_bad_ = true;
  parts.push_back({std::move(extension), member.offset, member.length,
                   member.decompressed});
  return absl::OkStatus();
}

void SampleGrouping::NoteLink(SampleName name) {
  if (current_.has_value() && current_->key == name.key) {
    if (current_->links.size() < kMostLinks)
      current_->links.push_back(std::move(name.extension));
  } else if (links_.size() < kMostLinks) {
    links_.push_back({std::string(name.key), std::move(name.extension)});
  }
}

void SampleGrouping::Begin(std::string_view key) {
  current_ = GroupedSample{std::string(key), {}};
  for (Link& link : links_) {
    if (link.key == key) current_->links.push_back(std::move(link.extension));
  }
  links_.clear();
}

bool SampleGrouping::HasExtension(const std::string& extension) {
  const auto& parts = current_->parts;
  if (parts.size() < kFewParts) {
    return std::any_of(parts.begin(), parts.end(), [&](const SamplePart& part) {
      return part.extension == extension;
    });
  }
  if (extensions_.empty())
    for (const SamplePart& part : parts) extensions_.insert(part.extension);
  return !extensions_.insert(extension).second;
}

void SampleGrouping::Finish(std::vector<GroupedSample>* samples) {
  if (current_.has_value() && !current_is_bad_) {
    samples->push_back(*std::move(current_));
  }
  memory_->Shrink(std::exchange(counted_, 0));
  current_.reset();
  std::unordered_set<std::string>().swap(extensions_);
  current_is_bad_ = false;
}

}  // namespace forebay::dataset::shards

#include "tests/crash/disk_cache/generated_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "server/base/philox.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::cache::disk {
namespace {

std::uint64_t LengthOf(std::uint64_t object) {
  return 1 + object * 7919 % 60'000;
}

}  // namespace

storage::ReadRequest GeneratedRequest(std::uint64_t object,
                                      std::int64_t stamp) {
  static const auto root = storage::FakeRoot::Make(
      {.uri = "generated:", .lasting_identity = "generated:"});
  storage::ReadRequest request;
  request.root = root;
  request.object = std::to_string(object);
  request.version = {LengthOf(object), 1 + stamp};
  request.length = request.version.size;
  request.purpose.next_use_nanos = 0;
  return request;
}

std::string GeneratedContent(std::uint64_t object, std::int64_t stamp) {
  base::PhiloxStream random(/*seed=*/1, /*epoch=*/stamp, object, /*op=*/0);
  std::string content(LengthOf(object), '\0');
  for (std::size_t i = 0; i < content.size(); i += 4) {
    const std::uint32_t bits = random.NextUint32();
    std::memcpy(&content[i], &bits,
                std::min<std::size_t>(4, content.size() - i));
  }
  return content;
}

void GeneratedSource::Read(absl::Span<storage::ReadRequest> requests) {
  for (storage::ReadRequest& taken : requests) {
    const storage::ReadRequest request = std::move(taken);
    ++reads_;
    const auto content = std::make_shared<const std::string>(GeneratedContent(
        std::stoull(request.object), request.version.stamp - 1));
    request.done(storage::ReadResult{base::Bytes(
        content, {reinterpret_cast<const std::uint8_t*>(content->data()),
                  content->size()})});
  }
}

void NoNextUse::Ask(std::int64_t, absl::Span<const storage::SampleRef>,
                    absl::Span<std::int64_t> nanos) const {
  std::fill(nanos.begin(), nanos.end(), kUnknown);
}

}  // namespace forebay::cache::disk

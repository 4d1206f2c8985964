// The conformance suite on the source of content that is gathered from files.

#include "server/storage/gathered/gathered_source.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "server/storage/gathered/gathered_root.h"
#include "tests/conformance/storage/byte_source_conformance.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/storage/gathered/turned_pieces.h"

namespace forebay::storage {
namespace {

// Moves each read to the range behind the file's own bytes.
class ShiftedSource final : public ByteSource {
 public:
  explicit ShiftedSource(ByteSource* below) : below_(below) {}

  void Read(absl::Span<ReadRequest> requests) override {
    for (ReadRequest& request : requests) {
      const std::uint64_t size = request.version.size;
      request.version.size = 2 * size;
      request.offset += std::min(size, UINT64_MAX - request.offset);
    }
    below_->Read(requests);
  }
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override {
    below_->Share(ticket, purpose);
  }

 private:
  ByteSource* const below_;
};

class GatheredHarness final : public ByteSourceHarness {
 public:
  ByteSource& source() override { return shifted_; }
  void DestroySource() override { source_.reset(); }
  std::shared_ptr<const Root> root() override { return root_; }

  ObjectVersion Put(const std::string& object,
                    const std::string& content) override {
    return inner_.Put(object, pieces_->Add(object, content));
  }
  void Remove(const std::string& object) override { inner_.Remove(object); }

 private:
  MemorySource inner_;
  const std::shared_ptr<gathered::TurnedPieces> pieces_ =
      std::make_shared<gathered::TurnedPieces>(1000);
  const std::shared_ptr<const Root> root_ =
      std::make_shared<const gathered::GatheredRoot>(inner_.root(), pieces_,
                                                     "turned");
  std::optional<gathered::GatheredSource> source_{std::in_place, &inner_, 0};
  ShiftedSource shifted_{&*source_};
};

std::unique_ptr<ByteSourceHarness> MakeHarness() {
  return std::make_unique<GatheredHarness>();
}

const tests::RunsOn<ByteSourceConformance> kGathered({{"gathered",
                                                       &MakeHarness}});

}  // namespace
}  // namespace forebay::storage

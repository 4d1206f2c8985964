#include "server/job/stream_directory.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/job.pb.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/fake_dataset.h"
#include "tests/unit/server/storage/fake_root.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::job {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::uint32_t kUid = 1000;

std::shared_ptr<const storage::Root> RootOf(const std::string& identity) {
  if (identity.empty()) return storage::FakeRoot::Make({.uri = "/data"});
  return storage::FakeRoot::Make({.uri = "/data", .identity = identity});
}

// A dataset of samples below roots with these identities. "" means a root
// without an identity.
class NamedDataset final : public dataset::FakeDataset {
 public:
  explicit NamedDataset(const std::vector<std::string>& roots,
                        std::uint8_t version = 0, const void* index = nullptr)
      : FakeDataset({.size = 1,
                     .largest_sample = 1,
                     .version = {version},
                     .root = RootOf(roots.back())}),
        index_(index) {
    if (roots.size() == 1) return;
    for (const std::string& identity : roots) {
      parts_.push_back(
          std::make_unique<NamedDataset>(std::vector<std::string>{identity}));
    }
  }

  dataset::Sample At(std::uint64_t) const override { return {}; }
  void ValuesOf(std::uint64_t, absl::Span<dataset::FieldValue>) const override {
  }
  const void* index() const override { return index_; }
  std::vector<const Dataset*> sources() const override {
    if (parts_.empty()) return {this};
    std::vector<const Dataset*> sources;
    for (const auto& part : parts_) sources.push_back(part.get());
    return sources;
  }

 private:
  const void* const index_;
  std::vector<std::unique_ptr<NamedDataset>> parts_;
};

proto::LoaderSpec Spec() {
  proto::LoaderSpec spec;
  spec.set_sharing(proto::LoaderSpec::ELASTIC);
  spec.set_name("train");
  spec.mutable_dataset()->set_uri("/data");
  spec.mutable_sampler()->set_seed(7);
  spec.mutable_sampler()->set_order(proto::SamplerSpec::SHUFFLE);
  spec.mutable_batch()->set_batch_size(4);
  spec.mutable_pipeline()->add_ops()->mutable_center_crop()->set_height(64);
  return spec;
}

const NamedDataset& Data() {
  static const auto& data = *new NamedDataset({"disk 1"});
  return data;
}

std::optional<std::string> KeyOf(
    const std::function<void(proto::LoaderSpec&)>& change) {
  proto::LoaderSpec spec = Spec();
  change(spec);
  return StreamKey(kUid, spec, Data());
}

TEST_CASE("Equal loaders share one stream key", "[job][stream_directory]") {
  const auto key = StreamKey(kUid, Spec(), Data());
  REQUIRE(key.has_value());
  CHECK(key == StreamKey(kUid, Spec(), NamedDataset({"disk 1"})));
  // These fields do not change the batches.
  CHECK(key == KeyOf([](auto& spec) { spec.set_name("other"); }));
  CHECK(key == KeyOf([](auto& spec) { spec.mutable_batch()->set_depth(3); }));
  CHECK(key == KeyOf([](auto& spec) {
          spec.mutable_dataset()->set_uri("/link/to/data");
        }));
}

TEST_CASE("A single stream key serves all GPUs", "[job][stream_directory]") {
  const auto on = [](const std::string& uuid, bool finished) {
    return KeyOf([&](auto& spec) {
      spec.mutable_placement()->set_gpu_uuid(uuid);
      spec.mutable_placement()->set_finished(finished);
    });
  };
  CHECK(on("a", false) == on("b", false));
  CHECK(on("a", false) != on("a", true));
  UNSCOPED_INFO("the host's are finished");
  CHECK(on("a", false) != KeyOf([](auto&) {}));
}

TEST_CASE("Whatever shapes a batch makes stream keys differ",
          "[job][stream_directory]") {
  const auto key = StreamKey(kUid, Spec(), Data());
  const std::vector<std::function<void(proto::LoaderSpec&)>> changes = {
      [](auto& spec) { spec.mutable_sampler()->set_seed(8); },
      [](auto& spec) { spec.mutable_sampler()->set_rank(1); },
      [](auto& spec) { spec.mutable_sampler()->set_world_size(2); },
      [](auto& spec) {
        spec.mutable_sampler()->set_order(proto::SamplerSpec::SEQUENTIAL);
      },
      [](auto& spec) { spec.mutable_batch()->set_batch_size(5); },
      [](auto& spec) { spec.mutable_batch()->set_drop_last(true); },
      [](auto& spec) { spec.mutable_pipeline()->add_ops(); },
      [](auto& spec) {
        spec.mutable_pipeline()
            ->mutable_ops(0)
            ->mutable_center_crop()
            ->set_height(65);
      },
      [](auto& spec) { spec.set_sharing(proto::LoaderSpec::LOCKSTEP); },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto other = KeyOf(changes[i]);
    CAPTURE(i);
    CHECK(other.has_value());
    CHECK(key != other);
  }
  CHECK(key != StreamKey(kUid + 1, Spec(), Data()));
  CHECK(key != StreamKey(kUid, Spec(), NamedDataset({"disk 2"})));
  CHECK(key != StreamKey(kUid, Spec(), NamedDataset({"disk 1"}, 1)));
  UNSCOPED_INFO("of files that were replaced since");
  CHECK(key != StreamKey(kUid, Spec(), NamedDataset({"disk 1"}, 0, &key)));
}

// A key must show where each of its parts ends.
TEST_CASE("Parts of a stream key are not taken for one another",
          "[job][stream_directory]") {
  CHECK(StreamKey(1, Spec(), Data()) != StreamKey(11, Spec(), Data()));
  CHECK(StreamKey(kUid, Spec(), NamedDataset({"a", "b"})) !=
        StreamKey(kUid, Spec(), NamedDataset({"ab", ""})));
  CHECK(StreamKey(kUid, Spec(), NamedDataset({"a", "bc"})) !=
        StreamKey(kUid, Spec(), NamedDataset({"ab", "c"})));
  CHECK(StreamKey(kUid, Spec(), NamedDataset({"a", "b"})) !=
        StreamKey(kUid, Spec(), NamedDataset({"a1:b", "c"})));
}

TEST_CASE("Some loaders have no stream key and share with nobody",
          "[job][stream_directory]") {
  const auto nobody = [](const std::optional<std::string>& key) {
    return !key.has_value();
  };
  for (const auto sharing :
       {proto::LoaderSpec::OFF, proto::LoaderSpec::SHARING_UNSPECIFIED})
    CHECK(nobody(KeyOf([&](auto& spec) { spec.set_sharing(sharing); })));
  CHECK(nobody(KeyOf([](auto& spec) {
    spec.set_sharing(static_cast<proto::LoaderSpec::Sharing>(99));
  })));
  for (const auto order :
       {proto::SamplerSpec::LISTED, proto::SamplerSpec::COORDINATED})
    CHECK(nobody(
        KeyOf([&](auto& spec) { spec.mutable_sampler()->set_order(order); })));
  // Without an identity, nobody can tell which files a root may read.
  CHECK(nobody(StreamKey(kUid, Spec(), NamedDataset({""}))));
  CHECK(nobody(StreamKey(kUid, Spec(), NamedDataset({"a", ""}))));
}

class StreamDirectoryTest {
 protected:
  absl::StatusOr<std::shared_ptr<stream::Stream>> Find(const std::string& key) {
    return directory_.Find(key, any_, [this] { return Make(); });
  }
  absl::StatusOr<std::shared_ptr<stream::Stream>> Make() {
    ++made_;
    return stream::Stream::Create(stream::FakeStreamSpec(100, 10),
                                  production_.deps());
  }

  stream::FakeProduction production_{7};
  StreamDirectory directory_;
  const StreamDirectory::Suits any_ = [](const auto&) { return true; };
  int made_ = 0;
};

TEST_CASE_METHOD(StreamDirectoryTest,
                 "A stream is in the directory as long as somebody holds it",
                 "[job][stream_directory]") {
  auto first = *Find("a");
  auto second = *Find("a");
  const auto other = *Find("b");
  CHECK(first == second);
  CHECK(first != other);
  CHECK(made_ == 2);
  first.reset();
  CHECK(*Find("a") == second);
  CHECK(made_ == 2);
  second.reset();
  CHECK_THAT(Find("a"), IsOk());
  CHECK(made_ == 3);
}

TEST_CASE_METHOD(
    StreamDirectoryTest,
    "The stream directory tries again to make what could not be made",
    "[job][stream_directory]") {
  const auto failed = directory_.Find("a", any_, [] {
    return absl::ResourceExhaustedError("no memory for reads");
  });
  CHECK_THAT(failed, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(Find("a"), IsOk());
}

TEST_CASE_METHOD(StreamDirectoryTest,
                 "The stream directory replaces a stream that does not suit",
                 "[job][stream_directory]") {
  const auto first = *Find("a");
  const auto other = *directory_.Find(
      "a", [](const auto&) { return false; }, [this] { return Make(); });
  CHECK(first != other);
  CHECK(*Find("a") == other);
}

TEST_CASE_METHOD(StreamDirectoryTest,
                 "The stream directory holds up nobody while it makes a stream",
                 "[job][stream_directory]") {
  std::shared_ptr<stream::Stream> quicker;
  const auto made = directory_.Find("a", any_, [&] {
    CHECK_THAT(Find("b"), IsOk());
    quicker = *Find("a");
    return Make();
  });
  CHECK(*made == quicker);
  CHECK(*Find("a") == quicker);
}

}  // namespace
}  // namespace forebay::job

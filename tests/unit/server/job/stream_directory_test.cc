#include "server/job/stream_directory.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/job.pb.h"
#include "tests/unit/server/dataset/fake_dataset.h"
#include "tests/unit/server/storage/fake_root.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::job {
namespace {

constexpr std::uint32_t kUid = 1000;

std::shared_ptr<const storage::Root> RootOf(const std::string& identity) {
  if (identity.empty()) return storage::FakeRoot::Make({.uri = "/data"});
  return storage::FakeRoot::Make({.uri = "/data", .identity = identity});
}

// Of samples that lie below roots of these identities; "": of none.
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

TEST(StreamKeyTest, EqualLoadersShare) {
  const auto key = StreamKey(kUid, Spec(), Data());
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key, StreamKey(kUid, Spec(), NamedDataset({"disk 1"})));
  // These fields change no batch.
  EXPECT_EQ(key, KeyOf([](auto& spec) { spec.set_name("other"); }));
  EXPECT_EQ(key, KeyOf([](auto& spec) { spec.mutable_batch()->set_depth(3); }));
  EXPECT_EQ(key, KeyOf([](auto& spec) {
              spec.mutable_dataset()->set_uri("/link/to/data");
            }));
}

TEST(StreamKeyTest, OneStreamServesAllGpus) {
  const auto on = [](const std::string& uuid, bool finished) {
    return KeyOf([&](auto& spec) {
      spec.mutable_placement()->set_gpu_uuid(uuid);
      spec.mutable_placement()->set_finished(finished);
    });
  };
  EXPECT_EQ(on("a", false), on("b", false));
  EXPECT_NE(on("a", false), on("a", true));
  EXPECT_NE(on("a", false), KeyOf([](auto&) {})) << "the host's are finished";
}

TEST(StreamKeyTest, WhateverShapesABatchParts) {
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
    EXPECT_TRUE(other.has_value()) << i;
    EXPECT_NE(key, other) << i;
  }
  EXPECT_NE(key, StreamKey(kUid + 1, Spec(), Data()));
  EXPECT_NE(key, StreamKey(kUid, Spec(), NamedDataset({"disk 2"})));
  EXPECT_NE(key, StreamKey(kUid, Spec(), NamedDataset({"disk 1"}, 1)));
  EXPECT_NE(key, StreamKey(kUid, Spec(), NamedDataset({"disk 1"}, 0, &key)))
      << "of files that were replaced since";
}

// Where one part of the key ends and the next begins cannot be mistaken.
TEST(StreamKeyTest, PartsAreNotTakenForOneAnother) {
  EXPECT_NE(StreamKey(1, Spec(), Data()), StreamKey(11, Spec(), Data()));
  EXPECT_NE(StreamKey(kUid, Spec(), NamedDataset({"a", "b"})),
            StreamKey(kUid, Spec(), NamedDataset({"ab", ""})));
  EXPECT_NE(StreamKey(kUid, Spec(), NamedDataset({"a", "bc"})),
            StreamKey(kUid, Spec(), NamedDataset({"ab", "c"})));
  EXPECT_NE(StreamKey(kUid, Spec(), NamedDataset({"a", "b"})),
            StreamKey(kUid, Spec(), NamedDataset({"a1:b", "c"})));
}

TEST(StreamKeyTest, SomeShareWithNobody) {
  const auto nobody = [](const std::optional<std::string>& key) {
    return !key.has_value();
  };
  for (const auto sharing :
       {proto::LoaderSpec::OFF, proto::LoaderSpec::SHARING_UNSPECIFIED})
    EXPECT_TRUE(nobody(KeyOf([&](auto& spec) { spec.set_sharing(sharing); })));
  EXPECT_TRUE(nobody(KeyOf([](auto& spec) {
    spec.set_sharing(static_cast<proto::LoaderSpec::Sharing>(99));
  })));
  for (const auto order :
       {proto::SamplerSpec::LISTED, proto::SamplerSpec::COORDINATED})
    EXPECT_TRUE(nobody(
        KeyOf([&](auto& spec) { spec.mutable_sampler()->set_order(order); })));
  // No one can tell which files may be read through a root without a name.
  EXPECT_TRUE(nobody(StreamKey(kUid, Spec(), NamedDataset({""}))));
  EXPECT_TRUE(nobody(StreamKey(kUid, Spec(), NamedDataset({"a", ""}))));
}

class StreamDirectoryTest : public ::testing::Test {
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

TEST_F(StreamDirectoryTest, AStreamIsThereAsLongAsSomebodyHoldsIt) {
  auto first = *Find("a");
  auto second = *Find("a");
  const auto other = *Find("b");
  EXPECT_EQ(first, second);
  EXPECT_NE(first, other);
  EXPECT_EQ(made_, 2);
  first.reset();
  EXPECT_EQ(*Find("a"), second);
  EXPECT_EQ(made_, 2);
  second.reset();
  EXPECT_TRUE(Find("a").ok());
  EXPECT_EQ(made_, 3);
}

TEST_F(StreamDirectoryTest, WhatCannotBeMadeIsTriedAgain) {
  const auto failed = directory_.Find("a", any_, [] {
    return absl::ResourceExhaustedError("no memory for reads");
  });
  EXPECT_TRUE(absl::IsResourceExhausted(failed.status()));
  EXPECT_TRUE(Find("a").ok());
}

TEST_F(StreamDirectoryTest, AStreamThatDoesNotSuitIsReplaced) {
  const auto first = *Find("a");
  const auto other = *directory_.Find(
      "a", [](const auto&) { return false; }, [this] { return Make(); });
  EXPECT_NE(first, other);
  EXPECT_EQ(*Find("a"), other);
}

TEST_F(StreamDirectoryTest, WhatIsMadeHoldsUpNobody) {
  std::shared_ptr<stream::Stream> quicker;
  const auto made = directory_.Find("a", any_, [&] {
    EXPECT_TRUE(Find("b").ok());
    quicker = *Find("a");
    return Make();
  });
  EXPECT_EQ(*made, quicker);
  EXPECT_EQ(*Find("a"), quicker);
}

}  // namespace
}  // namespace forebay::job

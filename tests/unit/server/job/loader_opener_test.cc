#include "server/job/loader_opener.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "proto/job.pb.h"
#include "server/dataset/catalog.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/base/sealed_numbers.h"
#include "tests/unit/server/dataset/scratch_tree.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::job {
namespace {

constexpr std::uint32_t kUid = 1000;
constexpr int kSamples = 200;

class LoaderOpenerTest : public testing::Test {
 protected:
  LoaderOpenerTest() {
    for (int i = 0; i < kSamples; ++i)
      tree_.Write("class/" + std::to_string(i) + ".jpg", "never decoded");
  }

  using Change = std::function<void(proto::LoaderSpec&)>;
  proto::LoaderSpec Spec(const Change& change = [](auto&) {}) const {
    proto::LoaderSpec spec;
    spec.set_sharing(proto::LoaderSpec::ELASTIC);
    spec.mutable_dataset()->set_uri(tree_.path());
    spec.mutable_dataset()->set_format(proto::DatasetSpec::IMAGE_FOLDER);
    spec.mutable_sampler()->set_order(proto::SamplerSpec::SHUFFLE);
    spec.mutable_sampler()->set_seed(7);
    spec.mutable_batch()->set_batch_size(4);
    proto::CenterCrop* const crop =
        spec.mutable_pipeline()->add_ops()->mutable_center_crop();
    crop->set_height(8);
    crop->set_width(8);
    change(spec);
    return spec;
  }
  absl::StatusOr<std::shared_ptr<Loader>> Open(const proto::LoaderSpec& spec) {
    return OpenFor(job_, spec);
  }
  absl::StatusOr<std::shared_ptr<Loader>> OpenFor(
      Job& job, const proto::LoaderSpec& spec) {
    return opener_.OpenLoader(job, spec, Folder(), stop_.get_token());
  }
  absl::StatusOr<std::unique_ptr<fetch::SampleReader>> OpenReader(
      const proto::LoaderSpec& spec, bool decode) {
    return opener_.OpenReader(job_, spec, Folder(), decode, &warnings_,
                              stop_.get_token());
  }
  dataset::composed::DatasetInputs Folder() const {
    return {.root = tree_.Root()};
  }
  // Leaves nothing of the budget.
  base::MemoryReservation TakeAllMemory() {
    base::MemoryBudget& budget = production_.budget();
    return *budget.Reserve(budget.limit() - budget.used(), "a test");
  }

  dataset::ScratchTree tree_;
  stream::FakeProduction production_{7};
  dataset::Catalog catalog_{{.index_directory = "",
                             .scan_threads = 1,
                             .wall_clock = [] { return std::int64_t{0}; },
                             .budget = base::AmpleBudget()}};
  LoaderOpener opener_{&catalog_, production_.deps()};
  Job job_{/*id=*/1, kUid, "key"};
  std::vector<std::string> warnings_;  // of readers
  std::stop_source stop_;
};

TEST_F(LoaderOpenerTest, TheJobHasWhatWasOpened) {
  auto first = *Open(Spec());
  const auto second = *Open(Spec([](auto& spec) { spec.set_name("val"); }));
  EXPECT_EQ(first->name(), "loader 1");
  EXPECT_EQ(second->name(), "val");
  EXPECT_EQ(first->samples_per_epoch(), kSamples);
  EXPECT_EQ(job_.Loaders(), (std::vector{first, second}));
  first.reset();
  EXPECT_EQ(job_.Loaders(), std::vector{second});
}

TEST_F(LoaderOpenerTest, ARefusedSpecAddsNothing) {
  const std::vector<Change> faults = {
      [](auto& spec) { spec.mutable_batch()->set_batch_size(0); },
      [](auto& spec) { spec.mutable_pipeline()->add_ops(); },
      [](auto& spec) { spec.mutable_dataset()->clear_format(); },
      [](auto& spec) { spec.mutable_sampler()->set_rank(1); },
  };
  for (std::size_t i = 0; i < faults.size(); ++i) {
    EXPECT_TRUE(absl::IsInvalidArgument(Open(Spec(faults[i])).status())) << i;
  }
  EXPECT_TRUE(job_.Loaders().empty());
  EXPECT_EQ(production_.budget().used(), 0);
  EXPECT_EQ((*Open(Spec()))->name(), "loader 1");
}

TEST_F(LoaderOpenerTest, WhatNeedsNoDatasetIsCheckedBeforeTheScan) {
  stop_.request_stop();
  EXPECT_TRUE(absl::IsCancelled(Open(Spec()).status()));
  const auto no_op = [](auto& spec) { spec.mutable_pipeline()->add_ops(); };
  EXPECT_TRUE(absl::IsInvalidArgument(Open(Spec(no_op)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(OpenReader(Spec(no_op), true).status()));
}

TEST_F(LoaderOpenerTest, ATransformNeedsAnImage) {
  const std::vector<std::uint64_t> labels = {1, 2, 3};
  proto::LoaderSpec spec = Spec([](auto& s) {
    s.mutable_dataset()->set_uri("labels");
    s.mutable_dataset()->set_format(proto::DatasetSpec::ARRAYS);
    s.mutable_dataset()->set_samples(3);
    proto::ArrayField* const label = s.mutable_dataset()->add_arrays();
    label->set_name("label");
    label->set_kind(proto::ArrayField::LABEL);
  });
  const auto open = [&] {
    return opener_.OpenLoader(job_, spec,
                              {.memory = base::SealedNumbers(labels)}, {});
  };
  const auto refused = open().status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_NE(refused.message().find("no field that is an image"),
            std::string::npos)
      << refused;
  spec.clear_pipeline();
  EXPECT_EQ((*open())->samples_per_epoch(), 3);
}

TEST_F(LoaderOpenerTest, AReaderTransformsOnlyWhatItDecodes) {
  EXPECT_TRUE(OpenReader(Spec(), /*decode=*/true).ok());
  EXPECT_TRUE(
      absl::IsInvalidArgument(OpenReader(Spec(), /*decode=*/false).status()));
  EXPECT_TRUE(OpenReader(Spec([](auto& spec) { spec.clear_pipeline(); }),
                         /*decode=*/false)
                  .ok());
  EXPECT_TRUE(warnings_.empty());
  const auto random = Spec([](auto& spec) {
    spec.mutable_pipeline()->add_ops()->mutable_random_horizontal_flip()->set_p(
        0.5);
  });
  EXPECT_TRUE(
      absl::IsInvalidArgument(OpenReader(random, /*decode=*/true).status()));
}

TEST_F(LoaderOpenerTest, EqualLoadersJoinOneStream) {
  const auto first = *Open(Spec());
  Job other(/*id=*/2, kUid, "other");
  EXPECT_EQ((*OpenFor(other, Spec()))->stream(), first->stream());
  Job stranger(/*id=*/3, kUid + 1, "key");
  EXPECT_NE((*OpenFor(stranger, Spec()))->stream(), first->stream());
  const std::vector<Change> apart = {
      [](auto& spec) { spec.mutable_sampler()->set_seed(8); },
      [](auto& spec) { spec.set_sharing(proto::LoaderSpec::LOCKSTEP); },
      [](auto& spec) { spec.set_sharing(proto::LoaderSpec::OFF); },
      [](auto& spec) {
        spec.mutable_sampler()->set_order(proto::SamplerSpec::COORDINATED);
      },
  };
  for (std::size_t i = 0; i < apart.size(); ++i)
    EXPECT_NE((*Open(Spec(apart[i])))->stream(), first->stream()) << i;
}

TEST_F(LoaderOpenerTest, OthersKeepTheirsWhenMemoryIsShort) {
  const auto first = *Open(Spec());
  base::MemoryReservation all = TakeAllMemory();
  const std::uint64_t used = production_.budget().used();
  EXPECT_TRUE(absl::IsResourceExhausted(Open(Spec()).status()))
      << "no slots for a member of the same stream";
  const auto alone = [](auto& spec) {
    spec.set_sharing(proto::LoaderSpec::OFF);
  };
  EXPECT_TRUE(absl::IsResourceExhausted(Open(Spec(alone)).status()))
      << "no reads for another stream";
  EXPECT_EQ(production_.budget().used(), used);
  EXPECT_EQ(job_.Loaders(), std::vector{first});
  all.Release();
  EXPECT_EQ((*Open(Spec()))->stream(), first->stream());
}

class CoordinatedTest : public LoaderOpenerTest {
 protected:
  static void Coordinate(proto::LoaderSpec& spec) {
    spec.mutable_sampler()->set_order(proto::SamplerSpec::COORDINATED);
  }
  // How many samples were asked for more than once.
  int AskedTwice() const {
    int twice = 0;
    for (const auto& [object, times] : production_.asked()) twice += times > 1;
    return twice;
  }
};

TEST_F(CoordinatedTest, LoadersOfAUserDrawFromOneOrder) {
  const auto first = *Open(Spec(Coordinate));
  const auto second = *Open(Spec(Coordinate));
  EXPECT_NE(first->stream(), second->stream());
  ASSERT_TRUE(first->StartEpoch(0, 0).ok());
  ASSERT_TRUE(second->StartEpoch(0, 0).ok());
  ASSERT_FALSE(production_.asked().empty());
  EXPECT_EQ(AskedTwice(), 0) << "one makes what another is making";
  production_.RunAll();
}

TEST_F(CoordinatedTest, AnotherUserDrawsFromAnOrderOfTheirOwn) {
  const auto first = *Open(Spec(Coordinate));
  Job stranger(/*id=*/2, kUid + 1, "key");
  const auto second = *OpenFor(stranger, Spec(Coordinate));
  ASSERT_TRUE(first->StartEpoch(0, 0).ok());
  ASSERT_TRUE(second->StartEpoch(0, 0).ok());
  EXPECT_EQ(AskedTwice(), production_.asked().size())
      << "equal seeds draw equal samples";
  production_.RunAll();
}

TEST_F(CoordinatedTest, AMemberTakesMemoryAsLongAsItIsThere) {
  {
    const base::MemoryReservation all = TakeAllMemory();
    const absl::Status refused = Open(Spec(Coordinate)).status();
    EXPECT_TRUE(absl::IsResourceExhausted(refused));
    EXPECT_NE(refused.message().find("the coordinated order"),
              std::string::npos)
        << refused;
    EXPECT_TRUE(job_.Loaders().empty());
  }
  auto loader = *Open(Spec(Coordinate));
  EXPECT_GE(production_.budget().used(),
            stream::Coordinator::BytesOfMember(kSamples));
  loader.reset();
  EXPECT_EQ(production_.budget().used(), 0);
}

}  // namespace
}  // namespace forebay::job

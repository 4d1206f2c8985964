#include "server/job/loader_opener.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "proto/job.pb.h"
#include "server/dataset/canonical_spec.h"
#include "server/dataset/catalog.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/base/sealed_numbers.h"
#include "tests/unit/server/dataset/scratch_tree.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::job {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

constexpr std::uint32_t kUid = 1000;
constexpr int kSamples = 200;

class LoaderOpenerTest {
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
    spec.mutable_dataset()->mutable_image_folder();
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
  // Reserves the rest of the budget.
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
  std::vector<std::string> warnings_;  // warnings of readers
  std::stop_source stop_;
};

TEST_CASE_METHOD(LoaderOpenerTest,
                 "A job has the loaders that were opened for it",
                 "[job][loader_opener]") {
  auto first = *Open(Spec());
  const auto second = *Open(Spec([](auto& spec) { spec.set_name("val"); }));
  CHECK(first->name() == "loader 1");
  CHECK(second->name() == "val");
  CHECK(first->samples_per_epoch() == kSamples);
  CHECK(job_.Loaders() == std::vector{first, second});
  first.reset();
  CHECK(job_.Loaders() == std::vector{second});
}

TEST_CASE_METHOD(LoaderOpenerTest,
                 "A refused loader spec adds nothing to the job",
                 "[job][loader_opener]") {
  const std::vector<Change> faults = {
      [](auto& spec) { spec.mutable_batch()->set_batch_size(0); },
      [](auto& spec) { spec.mutable_pipeline()->add_ops(); },
      [](auto& spec) { spec.mutable_dataset()->clear_kind(); },
      [](auto& spec) { spec.mutable_sampler()->set_rank(1); },
  };
  for (std::size_t i = 0; i < faults.size(); ++i) {
    CAPTURE(i);
    CHECK_THAT(Open(Spec(faults[i])),
               HasCode(absl::StatusCode::kInvalidArgument));
  }
  CHECK(job_.Loaders().empty());
  CHECK(production_.budget().used() == 0);
  CHECK((*Open(Spec()))->name() == "loader 1");
}

TEST_CASE_METHOD(
    LoaderOpenerTest,
    "The loader opener checks what needs no dataset before the scan",
    "[job][loader_opener]") {
  stop_.request_stop();
  CHECK_THAT(Open(Spec()), HasCode(absl::StatusCode::kCancelled));
  const auto no_op = [](auto& spec) { spec.mutable_pipeline()->add_ops(); };
  CHECK_THAT(Open(Spec(no_op)), HasCode(absl::StatusCode::kInvalidArgument));
  CHECK_THAT(OpenReader(Spec(no_op), true),
             HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE_METHOD(LoaderOpenerTest,
                 "A loader's transform needs a field that is an image",
                 "[job][loader_opener]") {
  const std::vector<std::uint64_t> labels = {1, 2, 3};
  proto::LoaderSpec spec = Spec([](auto& s) {
    s.mutable_dataset()->set_uri("labels");
    proto::Arrays& arrays = *s.mutable_dataset()->mutable_arrays();
    arrays.set_samples(3);
    proto::ArrayField* const label = arrays.add_fields();
    label->set_name("label");
    label->set_kind(proto::ArrayField::LABEL);
  });
  const auto open = [&] {
    return opener_.OpenLoader(job_, spec,
                              {.memory = base::SealedNumbers(labels)}, {});
  };
  const auto refused = open().status();
  CHECK_THAT(refused, HasCode(absl::StatusCode::kInvalidArgument));
  CAPTURE(refused);
  CHECK_THAT(refused.message(), Contains("no field that is an image"));
  spec.clear_pipeline();
  CHECK((*open())->samples_per_epoch() == 3);
}

TEST_CASE_METHOD(LoaderOpenerTest,
                 "A sample reader transforms only what it decodes",
                 "[job][loader_opener]") {
  CHECK_THAT(OpenReader(Spec(), /*decode=*/true), IsOk());
  CHECK_THAT(OpenReader(Spec(), /*decode=*/false),
             HasCode(absl::StatusCode::kInvalidArgument));
  CHECK_THAT(OpenReader(Spec([](auto& spec) { spec.clear_pipeline(); }),
                        /*decode=*/false),
             IsOk());
  CHECK(warnings_.empty());
  const auto random = Spec([](auto& spec) {
    spec.mutable_pipeline()->add_ops()->mutable_random_horizontal_flip()->set_p(
        0.5);
  });
  CHECK_THAT(OpenReader(random, /*decode=*/true),
             HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE_METHOD(LoaderOpenerTest, "Equal loaders of one user join one stream",
                 "[job][loader_opener]") {
  const auto first = *Open(Spec());
  Job other(/*id=*/2, kUid, "other");
  CHECK((*OpenFor(other, Spec()))->stream() == first->stream());
  Job other_user(/*id=*/3, kUid + 1, "key");
  CHECK((*OpenFor(other_user, Spec()))->stream() != first->stream());
  const std::vector<Change> apart = {
      [](auto& spec) { spec.mutable_sampler()->set_seed(8); },
      [](auto& spec) { spec.set_sharing(proto::LoaderSpec::LOCKSTEP); },
      [](auto& spec) { spec.set_sharing(proto::LoaderSpec::OFF); },
      [](auto& spec) {
        spec.mutable_sampler()->set_order(proto::SamplerSpec::COORDINATED);
      },
  };
  for (std::size_t i = 0; i < apart.size(); ++i) {
    CAPTURE(i);
    CHECK((*Open(Spec(apart[i])))->stream() != first->stream());
  }
}

TEST_CASE_METHOD(LoaderOpenerTest,
                 "Loaders of clients of protocol 3 and of later ones that are "
                 "equal join one stream",
                 "[job][loader_opener]") {
  const auto first = *Open(Spec());
  const auto second = *Open(Spec([&](auto& spec) {
    proto::DatasetSpec old;
    old.set_uri(tree_.path());
    old.set_v3_format(proto::DatasetSpec::IMAGE_FOLDER);
    *spec.mutable_dataset() = *dataset::CanonicalSpec(old);
  }));
  CHECK(second->stream() == first->stream());
}

TEST_CASE_METHOD(
    LoaderOpenerTest,
    "Other loaders keep their streams when memory is short for a new one",
    "[job][loader_opener]") {
  const auto first = *Open(Spec());
  base::MemoryReservation all = TakeAllMemory();
  const std::uint64_t used = production_.budget().used();
  UNSCOPED_INFO("no slots for a member of the same stream");
  CHECK_THAT(Open(Spec()), HasCode(absl::StatusCode::kResourceExhausted));
  const auto alone = [](auto& spec) {
    spec.set_sharing(proto::LoaderSpec::OFF);
  };
  UNSCOPED_INFO("no reads for another stream");
  CHECK_THAT(Open(Spec(alone)), HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(production_.budget().used() == used);
  CHECK(job_.Loaders() == std::vector{first});
  all.Release();
  CHECK((*Open(Spec()))->stream() == first->stream());
}

class CoordinatedTest : public LoaderOpenerTest {
 protected:
  static void Coordinate(proto::LoaderSpec& spec) {
    spec.mutable_sampler()->set_order(proto::SamplerSpec::COORDINATED);
  }
  // Returns how many samples were requested more than once.
  int AskedTwice() const {
    int twice = 0;
    for (const auto& [object, times] : production_.asked()) twice += times > 1;
    return twice;
  }
};

TEST_CASE_METHOD(CoordinatedTest,
                 "Coordinated loaders of a user draw from one order",
                 "[job][loader_opener]") {
  const auto first = *Open(Spec(Coordinate));
  const auto second = *Open(Spec(Coordinate));
  CHECK(first->stream() != second->stream());
  REQUIRE_THAT(first->StartEpoch(0, 0), IsOk());
  REQUIRE_THAT(second->StartEpoch(0, 0), IsOk());
  REQUIRE_FALSE(production_.asked().empty());
  UNSCOPED_INFO("one makes what another is making");
  CHECK(AskedTwice() == 0);
  production_.RunAll();
}

TEST_CASE_METHOD(
    CoordinatedTest,
    "Coordinated loaders of another user draw from an order of their own",
    "[job][loader_opener]") {
  const auto first = *Open(Spec(Coordinate));
  Job other_user(/*id=*/2, kUid + 1, "key");
  const auto second = *OpenFor(other_user, Spec(Coordinate));
  REQUIRE_THAT(first->StartEpoch(0, 0), IsOk());
  REQUIRE_THAT(second->StartEpoch(0, 0), IsOk());
  UNSCOPED_INFO("equal seeds draw equal samples");
  CHECK(AskedTwice() == production_.asked().size());
  production_.RunAll();
}

TEST_CASE_METHOD(
    CoordinatedTest,
    "A coordinated loader takes memory for its order as long as it is there",
    "[job][loader_opener]") {
  {
    const base::MemoryReservation all = TakeAllMemory();
    const absl::Status refused = Open(Spec(Coordinate)).status();
    CHECK_THAT(refused, HasCode(absl::StatusCode::kResourceExhausted));
    CAPTURE(refused);
    CHECK_THAT(refused.message(), Contains("the coordinated order"));
    CHECK(job_.Loaders().empty());
  }
  auto loader = *Open(Spec(Coordinate));
  CHECK(production_.budget().used() >=
        stream::Coordinator::BytesOfMember(kSamples));
  loader.reset();
  CHECK(production_.budget().used() == 0);
}

}  // namespace
}  // namespace forebay::job

#include <google/protobuf/text_format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "proto/job.pb.h"
#include "server/dataset/catalog.h"
#include "server/job/loader_opener.h"
#include "server/storage/object_lister.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/faulty_source.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/storage/noting_source.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::job {
namespace {

using tests::Each;
using tests::IsEmpty;
using tests::Not;

constexpr std::uint32_t kUid = 1000;
// This length is a number of whole blocks in every format.
constexpr std::size_t kBytes = 1 << 17;

// Lists the objects that a test has put into a source. Thread-safe once the
// test puts no more objects.
class FixedLister final : public storage::ObjectLister {
 public:
  std::map<std::string, storage::ObjectVersion> objects;

  absl::Status List(const storage::Root&,
                    const std::function<void(storage::ListedObject)>& each,
                    const std::stop_token&) override {
    for (const auto& [name, version] : objects) each({name, version});
    return absl::OkStatus();
  }
  absl::StatusOr<storage::ObjectVersion> Stat(const storage::Root&,
                                              std::string_view object,
                                              const std::stop_token&) override {
    const auto found = objects.find(std::string(object));
    if (found == objects.end()) return absl::NotFoundError("is not there");
    return found->second;
  }
};

// Opens datasets with damaged files, so that opening them already reads the
// files.
class OpeningReadsTest {
 protected:
  OpeningReadsTest() {
    for (const char* const name : {"a", "a.npy", "a.npz", "a.csv"})
      lister_.objects[name] = memory_.Put(name, std::string(kBytes, 'x'));
  }

  // Returns the spec of a dataset whose kind is given in protobuf's text
  // format.
  static proto::LoaderSpec Spec(const std::string& kind) {
    proto::LoaderSpec spec;
    CHECK(google::protobuf::TextFormat::ParseFromString(
        kind, spec.mutable_dataset()));
    spec.mutable_dataset()->set_uri("gs://bucket");
    return spec;
  }

  absl::Status Open(std::uint64_t job, const proto::LoaderSpec& spec) {
    std::vector<std::string> warnings;
    return opener_
        .OpenReader(Job(job, kUid, "key"), spec, {.root = memory_.root()},
                    /*decode=*/false, &warnings, {})
        .status();
  }
  stream::StreamDeps Deps() {
    stream::StreamDeps deps = production_.deps();
    deps.source = &noting_;
    return deps;
  }

  storage::MemorySource memory_;
  storage::FaultySource faulty_{&memory_};
  storage::NotingSource noting_{&faulty_};
  FixedLister lister_;
  stream::FakeProduction production_{7};
  dataset::Catalog catalog_{{.index_directory = "",
                             .scan_threads = 1,
                             .wall_clock = [] { return std::int64_t{0}; },
                             .lister = &lister_,
                             .budget = base::AmpleBudget()}};
  LoaderOpener opener_{&catalog_, Deps()};
};

TEST_CASE_METHOD(OpeningReadsTest,
                 "The opening job pays for the reads of an opening",
                 "[job][opening_reads]") {
  for (const std::string kind :
       {"webdataset { files: 'a' fields: 'jpg' }",
        "manifest { path: 'a.csv' columns { field: 'path' column: 'path' } }",
        "npy_files { files: 'a.npy' }",
        "npz { files: 'a.npz' arrays: 'x' samples: ROWS }",
        "npz { files: 'a.npz' arrays: 'x' samples: FILES }",
        "tfrecord { files: 'a' }", "array_record { files: 'a' }",
        "zip { files: 'a' }", "mds { files: 'a' }", "lmdb { files: 'a' }",
        "hdf5 { files: 'a' }",
        "tokens { files: 'a.npy' length: 8 stride: 8 }"}) {
    const std::size_t before = noting_.noted().size();
    const absl::Status status = Open(/*job=*/3, Spec(kind));
    std::vector<std::uint64_t> jobs;
    for (std::size_t i = before; i < noting_.noted().size(); ++i) {
      const auto noted = noting_.noted()[i];
      const auto payers = storage::PayersOf(noted.purpose);
      jobs.insert(jobs.end(), payers.begin(), payers.end());
    }
    UNSCOPED_INFO(kind << " " << status);
    CHECK_THAT(jobs, Not(IsEmpty()));
    CAPTURE(kind);
    CHECK_THAT(jobs, Each(3));
  }
}

TEST_CASE_METHOD(
    OpeningReadsTest,
    "A job that waits for another's opening pays for its reads too",
    "[job][opening_reads]") {
  const auto spec = Spec("zip { files: 'a' }");
  faulty_.Hold();
  absl::Status first, second;
  std::jthread opening([&] { first = Open(/*job=*/3, spec); });
  while (noting_.noted().empty()) std::this_thread::yield();
  std::jthread waiting([&] { second = Open(/*job=*/4, spec); });
  while (noting_.sharers().empty()) std::this_thread::yield();
  CHECK(noting_.sharers() == std::vector<std::uint64_t>{4});
  CHECK(noting_.shared()[0] == noting_.noted()[0].ticket);
  faulty_.Release();
  opening.join();
  waiting.join();
  CHECK_FALSE(first.ok());
  CHECK(first == second);
}

}  // namespace
}  // namespace forebay::job

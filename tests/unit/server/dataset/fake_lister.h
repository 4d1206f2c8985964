#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_FAKE_LISTER_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_FAKE_LISTER_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "server/storage/object_lister.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::dataset {

// A lister of objects in memory. Thread-safe, except for changes of its
// objects.
class FakeLister final : public storage::ObjectLister {
 public:
  std::shared_ptr<const storage::Root> root() const { return root_; }

  void Put(const std::string& object, std::uint64_t size = 1) {
    objects_[object] = {size, ++generation_};
  }
  void Remove(const std::string& object) { objects_.erase(object); }

  absl::Status List(const storage::Root&,
                    const std::function<void(storage::ListedObject)>& each,
                    const std::stop_token& stop) override {
    ++lists;
    if (on_list) on_list();
    if (stop.stop_requested()) return absl::CancelledError("stopped");
    for (const auto& [name, version] : objects_) each({name, version});
    return status;
  }
  absl::StatusOr<storage::ObjectVersion> Stat(const storage::Root&,
                                              std::string_view object,
                                              const std::stop_token&) override {
    const auto found = objects_.find(std::string(object));
    if (found == objects_.end())
      return absl::NotFoundError(std::string(object) + ": is not there");
    return found->second;
  }

  std::atomic<int> lists = 0;
  absl::Status status;            // the status that each list returns
  std::function<void()> on_list;  // called as each list begins

 private:
  std::map<std::string, storage::ObjectVersion> objects_;
  std::int64_t generation_ = 1'700'000'000'000'000;
  const std::shared_ptr<const storage::Root> root_ = storage::FakeRoot::Make(
      {.uri = "gs://bucket/train", .identity = "gs://bucket/train"});
};

}  // namespace forebay::dataset

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_FAKE_LISTER_H_
